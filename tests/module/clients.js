// ioredis: call(); node-redis 4 and 5 (that in both protocols): client.bf, client.cms, client.topK and sendCommand.
const Redis = require('ioredis');
const port = Number(process.argv[2]);
let failed = 0;

function equal(name, got, wanted) {
    const good = JSON.stringify(got) === JSON.stringify(wanted);
    if (!good) failed = 1;
    console.log(good ? `ok ${name}` : `not ok ${name}: ${JSON.stringify(got)}, not ${JSON.stringify(wanted)}`);
}

async function withIoredis() {
    const r = new Redis(port, '127.0.0.1');
    equal('ioredis: BF.ADD', [await r.call('BF.ADD', 'f', 'a'), await r.call('BF.ADD', 'f', 'a')], [1, 0]);
    equal('ioredis: WEIR.CREATE', await r.call('WEIR.CREATE', 'w', 'recent:memory=64K,seed=1'), 'OK');
    const hashes = Buffer.alloc(24);
    hashes.writeBigUInt64LE(5n, 0);
    hashes.writeBigUInt64LE(6n, 8);
    hashes.writeBigUInt64LE(5n, 16);
    const bitmap = await r.callBuffer('WEIR.ADDHASH', 'w', hashes, 'SEED', '1');
    equal('ioredis: a blob', [...bitmap], [3]);
    const all = await r.pipeline().call('WEIR.ADD', 'w', 'x').call('WEIR.ADD', 'w', 'x').exec();
    equal('ioredis: a pipeline', all.map((x) => x[1]), [1, 0]);
    const failure = await r.call('WEIR.ADD', 'none', 'x').catch((e) => e.message);
    equal('ioredis: an error', failure, 'WEIRMISSING no such key');
    r.disconnect();
}

async function withNodeRedis(library, RESP) {
    const c = require(library).createClient({ url: `redis://127.0.0.1:${port}`, RESP });
    const same = (name, got, wanted) => equal(`${name} (${library}, RESP${RESP})`, got, wanted);
    await c.connect();
    await c.del(['g', 'i', 'c', 't']);
    same('node-redis: bf.reserve', await c.bf.reserve('g', 0.01, 1000), 'OK');
    same('node-redis: bf.add', [await c.bf.add('g', 'a'), await c.bf.add('g', 'a')], [true, false]);
    same('node-redis: bf.mAdd', await c.bf.mAdd('g', ['a', 'b']), [false, true]);
    same('node-redis: bf.insert', await c.bf.insert('i', ['a', 'a'], { CAPACITY: 100, ERROR: 0.01 }), [true, false]);
    same('node-redis: bf.exists', await c.bf.exists('g', 'a'), true);
    same('node-redis: bf.mExists', await c.bf.mExists('g', ['a', 'q']), [true, false]);
    same('node-redis: bf.card', await c.bf.card('g'), 2);
    const info = await c.bf.info('g');
    same('node-redis: bf.info', info.numberOfInsertedItems ?? info['Number of items inserted'], 2);
    same('node-redis: cms', [await c.cms.initByDim('c', 100, 4), await c.cms.incrBy('c', { item: 'a', incrementBy: 3 }),
        await c.cms.query('c', ['a']), (await c.cms.info('c')).count], ['OK', [3], [3], 3]);
    same('node-redis: topK', [await c.topK.reserve('t', 3), await c.topK.add('t', ['x', 'x', 'y']),
        (await c.topK.query('t', ['x', 'z'])).map(Number), await c.topK.list('t')], ['OK', [null, null, null], [1, 0], ['x', 'y']]);
    same('node-redis: sendCommand', await c.sendCommand(['WEIR.TEST', 'w', 'x', 'y']), [0, 1]);
    await c.quit();
}

async function all() {
    await withIoredis();
    await withNodeRedis('redis', 2);
    await withNodeRedis('redis5', 2);
    await withNodeRedis('redis5', 3);
}

all().then(() => process.exit(failed), (e) => { console.error(e); process.exit(1); });
