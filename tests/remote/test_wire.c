/* test_wire.c - addresses, replies and connections. */
#include "reply_pieces.h"
#include "servers.h"
#include "wire.h"
#include "wire_reply.h"

/* --- addresses --------------------------------------------------------------------------- */

static void urls_are_taken_apart(void **state) {
    wire_url u;
    weir_error err;
    (void)state;
    assert_int_equal(wire_url_parse(&u, "redis://h", &err), WEIR_OK);
    assert_string_equal(u.hosts[0].host, "h");
    assert_int_equal(u.hosts[0].port, 6379);
    assert_null(u.name);
    assert_false(u.tls || u.cluster || u.local);
    wire_url_release(&u);
    assert_int_equal(
        wire_url_parse(&u, "rediss://al%40ice@[::1]:7000/a%2Fb/c?db=3&group=g%26h", &err), WEIR_OK);
    assert_string_equal(u.user, "al@ice");
    assert_string_equal(u.hosts[0].host, "::1");
    assert_int_equal(u.hosts[0].port, 7000);
    assert_string_equal(u.name, "a/b/c");
    assert_int_equal(u.db, 3);
    assert_true(u.tls);
    assert_int_equal(u.parameter_count, 2);
    assert_string_equal(u.parameters[1].key, "group");
    assert_string_equal(u.parameters[1].value, "g&h");
    wire_url_release(&u);
    assert_int_equal(wire_url_parse(&u, "redis+cluster://a:1,b:2,c/n", &err), WEIR_OK);
    assert_int_equal(u.host_count, 3);
    assert_string_equal(u.hosts[2].host, "c");
    assert_true(u.cluster);
    wire_url_release(&u);
    assert_int_equal(wire_url_parse(&u, "unix:/run/a.sock?name=n&user=bob", &err), WEIR_OK);
    assert_true(u.local);
    assert_string_equal(u.hosts[0].host, "/run/a.sock");
    assert_string_equal(u.name, "n");
    assert_string_equal(u.user, "bob");
    wire_url_release(&u);
    assert_int_equal(wire_url_parse(&u, "unix:///run/a.sock", &err), WEIR_OK);
    assert_string_equal(u.hosts[0].host, "/run/a.sock");
    wire_url_release(&u);
}

static void bad_urls_are_refused(void **state) {
    static const struct {
        const char *url, *says;
    } bad[] = {
        {"http://h", "does not begin with redis://"},
        {"redis://", "names no server"},
        {"redis://:6379", "names no server"},
        {"redis://u@", "names no server"},
        {"redis://h:0", "the port '0'"},
        {"redis://h:65536", "the port '65536'"},
        {"redis://h:7x", "the port '7x'"},
        {"redis://[::1", "'[' without its ']'"},
        {"redis://[::1]7", "'[' without its ']'"},
        {"redis://a,b", "several are for a cluster"},
        {"redis://h/%zz", "not followed by two hexadecimal digits"},
        {"redis://h/%00", "not followed by two hexadecimal digits"},
        {"redis://h/a%2", "not followed by two hexadecimal digits"},
        {"redis://h?db=x", "db=x"},
        {"redis+cluster://h?db=1", "a cluster has only db=0"},
        {"redis://h?group", "KEY=VALUE"},
        {"redis://h?=1", "KEY=VALUE"},
        {"redis://u@h?user=v", "user twice"},
        {"unix:", "names no socket"},
    };
    wire_url u;
    weir_error err;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(wire_url_parse(&u, bad[i].url, &err), WEIR_ERR_SPEC);
        wire_url_release(&u);
        if (!strstr(err.message, bad[i].says)) fail_msg("%s: %s", bad[i].url, err.message);
    }
}

static void passwords_in_urls_are_refused_unsaid(void **state) {
    static const char *const urls[] = {
        "redis://u:s3cret@h",    "redis://:s3cret@h",         "redis://:@h",
        "redis://u:s3c@ret@h/n", "redis://h?password=s3cret", "unix:/s?password=s3cret"};
    (void)state;
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        wire_url u;
        weir_error err;
        assert_int_equal(wire_url_parse(&u, urls[i], &err), WEIR_ERR_SPEC);
        wire_url_release(&u);
        assert_non_null(strstr(err.message, "has a password in it"));
        assert_null(strstr(err.message, "s3c"));
    }
}

/* --- replies ------------------------------------------------------------------------------- */

/* Replies in these bytes, however they are cut; SIZE_MAX if they are refused. */
static size_t replies_in(const char *bytes, size_t length, uint64_t most) {
    bool wrong;
    size_t count = replies_in_pieces(bytes, length, most, &wrong);
    return wrong ? SIZE_MAX : count;
}
#define REPLIES(text) replies_in(text, sizeof(text) - 1, 1 << 20)

static void replies_are_parsed(void **state) {
    (void)state;
    assert_int_equal(REPLIES("+OK\r\n:12\r\n$3\r\na\r\n\r\n$-1\r\n*2\r\n:1\r\n*0\r\n-ERR x\r\n"),
                     6);
    assert_int_equal(REPLIES("*-1\r\n*1\r\n*1\r\n*1\r\n$0\r\n\r\n"), 2);
    assert_int_equal(REPLIES("*2\r\n:1\r\n"), 0); /* cut */
    assert_int_equal(REPLIES("HTTP/1.1 400 Bad Request\r\n\r\n"), SIZE_MAX);
    assert_int_equal(REPLIES(":12x\r\n"), SIZE_MAX);
    assert_int_equal(REPLIES("$-7\r\n"), SIZE_MAX);
    assert_int_equal(REPLIES("*2147483647\r\n"), SIZE_MAX);
    assert_int_equal(REPLIES("*99999999999\r\n"), SIZE_MAX);
    assert_int_equal(REPLIES("\0\0\0\0"), SIZE_MAX);
}

static void replies_are_bounded(void **state) {
    enum { MUCH = 200000 };
    char *bytes = malloc(MUCH);
    (void)state;
    memset(bytes, 'x', MUCH);
    bytes[0] = '+'; /* a line without an end */
    assert_int_equal(replies_in(bytes, MUCH, 1 << 20), SIZE_MAX);
    memcpy(bytes, "$190000\r\n", 9);
    assert_int_equal(replies_in(bytes, MUCH, 1 << 20), SIZE_MAX);
    memcpy(bytes + 9 + 190000, "\r\n", 2);
    assert_int_equal(replies_in(bytes, 9 + 190000 + 2, 1 << 20), 1);
    assert_int_equal(replies_in(bytes, 9 + 190000 + 2, 100000), SIZE_MAX); /* too long */
    free(bytes);
    /* an array that is promised, and many small ones in one: more than the limit in all */
    assert_int_equal(replies_in("*10000\r\n", 8, 4096), SIZE_MAX);
    char nested[8 + 400 * 5];
    size_t length = (size_t)sprintf(nested, "*400\r\n");
    for (int i = 0; i < 400; i++) length += (size_t)sprintf(nested + length, "*0\r\n");
    assert_int_equal(replies_in(nested, length, 1 << 20), 1);
    assert_int_equal(replies_in(nested, length, 8192), SIZE_MAX);
}

static void errors_are_explained(void **state) {
    static const struct {
        const char *text, *says;
        bool passing;
    } cases[] = {
        {"NOAUTH Authentication required.", "--password-file", false},
        {"NOPERM this user has no permissions", "ACL", false},
        {"LOADING Redis is loading", "try again", true},
        {"OOM command not allowed", "maxmemory", false},
        {"MISCONF Redis is configured", "snapshots fail", false},
        {"READONLY You can't write", "primary", false},
        {"WRONGTYPE Operation", "take another", false},
        {"MOVED 12 h:1", "redis+cluster://", false},
        {"CLUSTERDOWN Hash slot not served", "slots", true},
        {"TRYAGAIN Multiple keys", "TRYAGAIN", true},
        {"ERR unknown command 'WEIR.ADDHASH', with", "module", false},
        {"ERR \x1b[31mred", "?[31mred", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        strcpy(text, cases[i].text);
        wire_reply reply = {.type = WIRE_ERROR, .text = text, .length = strlen(text)};
        weir_error err;
        wire_explain("h:1", &reply, &err);
        if (!strstr(err.message, cases[i].says)) fail_msg("%s: %s", text, err.message);
        assert_non_null(strstr(err.message, "'h:1'"));
        assert_int_equal(wire_is_passing(&reply), cases[i].passing);
    }
}

/* --- connections to a server that says what it is told to ------------------------------------- */

typedef struct {
    wire_access *access;
    wire_url url;
    wire *w;
} joint;

static joint join(const char *text, wire_options options) {
    joint j;
    weir_error err;
    if (wire_url_parse(&j.url, text, &err) != WEIR_OK ||
        wire_access_new(&j.access, &options, &j.url, &err) != WEIR_OK)
        fail_msg("%s", err.message);
    j.w = wire_new(j.access, &j.url, j.url.hosts[0].host, j.url.hosts[0].port);
    assert_non_null(j.w);
    return j;
}

static void part(joint *j) {
    wire_free(j->w);
    wire_access_free(j->access);
    wire_url_release(&j->url);
}

static const char *local(uint16_t port, const char *scheme, const char *rest) {
    static char text[128];
    snprintf(text, sizeof text, "%s127.0.0.1:%u%s", scheme, (unsigned)port, rest);
    return text;
}

static wire_outcome meet(fake_server *s, wire_options options, weir_error *err) {
    start_fake(s);
    joint j = join(local(s->port, "redis://", ""), options);
    wire_outcome how = wire_connect(j.w, err);
    wire_reply *reply = NULL;
    if (how == WIRE_OK) how = wire_call(j.w, &reply, err, "PING");
    wire_reply_free(reply);
    part(&j);
    stop_fake(s);
    return how;
}
#define FAKE(text) .says = (text), .length = sizeof(text) - 1

static void fakes_are_survived(void **state) {
    wire_options o = {.reply_ms = 200, .reply_bytes = 1 << 20};
    weir_error err;
    (void)state;
    fake_server garbage = {FAKE("220 mail ESMTP\r\n")};
    assert_int_equal(meet(&garbage, o, &err), WIRE_WRONG);
    assert_non_null(strstr(err.message, "no reply in the Redis protocol"));
    fake_server unasked = {FAKE("+OK\r\n"), .eager = true};
    assert_int_equal(meet(&unasked, o, &err), WIRE_OK); /* one too many, not noticed yet */
    fake_server twice = {FAKE("+OK\r\n+OK\r\n+OK\r\n")};
    (void)meet(&twice, o, &err);
    fake_server endless = {FAKE("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"), .endless = true};
    assert_int_equal(meet(&endless, o, &err), WIRE_WRONG);
    fake_server line = {FAKE("+xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"), .endless = true};
    assert_int_equal(meet(&line, o, &err), WIRE_WRONG);
    assert_non_null(strstr(err.message, "a reply of more than"));
    fake_server bulk = {FAKE("$99999999\r\n0123456789012345678901234567890123456789"),
                        .endless = true};
    assert_int_equal(meet(&bulk, o, &err), WIRE_WRONG);
    assert_non_null(strstr(err.message, "a reply of more than"));
    fake_server half = {FAKE("+O"), .closes = true};
    assert_int_equal(meet(&half, o, &err), WIRE_LOST);
    assert_non_null(strstr(err.message, "was cut"));
    fake_server mute = {FAKE("")};
    assert_int_equal(meet(&mute, o, &err), WIRE_LOST);
    assert_non_null(strstr(err.message, "has not answered for 0.2 s"));
    fake_server full = {FAKE("-ERR max number of clients reached\r\n"), .closes = true};
    assert_int_equal(meet(&full, o, &err), WIRE_LOST);
    fake_server denied = {FAKE("-DENIED Redis is running in protected mode\r\n"), .closes = true};
    assert_int_equal(meet(&denied, o, &err), WIRE_WRONG);
    assert_non_null(strstr(err.message, "protected mode"));
}

static bool stop_now(void *context) {
    (void)context;
    return true;
}

static void waiting_can_be_stopped(void **state) {
    wire_options o = {.reply_ms = 60000, .stop = stop_now};
    weir_error err;
    (void)state;
    fake_server mute = {FAKE("")};
    assert_int_equal(meet(&mute, o, &err), WIRE_STOPPED);
}

static void nobody_there_is_said(void **state) {
    weir_error err;
    (void)state;
    joint j = join(local(free_port(), "redis://", ""), (wire_options){0});
    assert_int_equal(wire_connect(j.w, &err), WIRE_LOST);
    assert_non_null(strstr(err.message, "Connection refused"));
    part(&j);
    j = join("unix:/nowhere/a.sock", (wire_options){0});
    assert_int_equal(wire_connect(j.w, &err), WIRE_LOST);
    assert_non_null(strstr(err.message, "no connection to '/nowhere/a.sock': No such file"));
    part(&j);
}

/* --- real servers ------------------------------------------------------------------------------
 */

static void call_is(joint *j, const char *command, const char *want) {
    wire_reply *reply;
    weir_error err;
    if (wire_call(j->w, &reply, &err, command) != WIRE_OK) fail_msg("%s", err.message);
    if (!wire_is_text(reply, want)) fail_msg("%s: %s", command, reply->text ? reply->text : "?");
    wire_reply_free(reply);
}

/* A pipeline of more than all buffers between the two hold. */
static void long_pipelines_do_not_lock_up(void **state) {
    enum { MANY = 3000, SIZE = 20000 };
    if (!have_program("redis-server")) skip();
    (void)state;
    const char *more[] = {NULL};
    real_server s = start_real(more);
    joint j = join(local(s.port, "redis://", ""), (wire_options){.reply_ms = 30000});
    weir_error err;
    char *bytes = calloc(1, SIZE);
    assert_int_equal(wire_connect(j.w, &err), WIRE_OK);
    for (int i = 0; i < MANY; i++) {
        memcpy(bytes, &i, sizeof i);
        assert_int_equal(wire_appendf(j.w, &err, "ECHO %b", bytes, (size_t)SIZE), WIRE_OK);
    }
    assert_int_equal(wire_flush(j.w, &err), WIRE_OK);
    for (int i = 0; i < MANY; i++) {
        wire_reply *reply;
        assert_int_equal(wire_read(j.w, &reply, 0, &err), WIRE_OK);
        assert_int_equal(reply->length, SIZE);
        assert_memory_equal(reply->text, &i, sizeof i);
        wire_reply_free(reply);
    }
    assert_int_equal(wire_outstanding(j.w), 0);
    kill(s.pid, SIGSTOP); /* no answer in time: the connection is given up, and comes back */
    wire_reply *reply;
    assert_int_equal(wire_appendf(j.w, &err, "SET a %d", (int64_t)-5), WIRE_OK);
    assert_int_equal(wire_read(j.w, &reply, 100, &err), WIRE_LOST);
    assert_false(wire_connected(j.w));
    assert_int_equal(wire_appendf(j.w, &err, "PING"), WIRE_LOST);
    kill(s.pid, SIGCONT);
    assert_int_equal(wire_connect(j.w, &err), WIRE_OK);
    assert_int_equal(wire_appendf(j.w, &err, "GET a"), WIRE_OK);
    assert_int_equal(wire_flush(j.w, &err), WIRE_OK);
    while (!wire_ready(j.w)) nap(1);
    assert_int_equal(wire_read(j.w, &reply, 0, &err), WIRE_OK);
    wire_reply_free(reply);
    stop_real(&s);
    assert_int_equal(wire_call(j.w, &reply, &err, "PING"), WIRE_LOST);
    part(&j);
    free(bytes);
}

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static wire_outcome greet(const char *url, wire_options o, weir_error *err) {
    joint j = join(url, o);
    wire_outcome how = wire_connect(j.w, err);
    if (how == WIRE_OK) call_is(&j, "PING", "PONG");
    part(&j);
    return how;
}

static void passwords_users_and_databases(void **state) {
    if (!have_program("redis-server")) skip();
    (void)state;
    char socket[160], file[160], other[160];
    strcpy(socket, scratch_path("r.sock"));
    strcpy(file, scratch_path("password"));
    strcpy(other, scratch_path("wrong"));
    const char *more[] = {
        "--requirepass", "pass word", "--unixsocket", socket, "--user", "ann", "on",
        ">s3cret",       "~*",        "+@all",        NULL};
    real_server s = start_real(more);
    weir_error err;
    wire_options o = {0};
    unsetenv("WEIR_PASSWORD");
    unsetenv("REDISCLI_AUTH");
    write_file(file, "pass word\r\nmore\n");
    write_file(other, "s3cret");
    assert_int_equal(greet(local(s.port, "redis://", ""), o, &err), WIRE_WRONG);
    assert_non_null(strstr(err.message, "NOAUTH"));
    o.password_file = other;
    assert_int_equal(greet(local(s.port, "redis://", ""), o, &err), WIRE_WRONG);
    assert_non_null(strstr(err.message, "WRONGPASS"));
    assert_null(strstr(err.message, "s3cret"));
    assert_int_equal(greet(local(s.port, "redis://ann@", ""), o, &err), WIRE_OK);
    o.user = "ann";
    assert_int_equal(greet(local(s.port, "redis://", ""), o, &err), WIRE_OK);
    o.user = NULL;
    o.password_file = file;
    assert_int_equal(greet(local(s.port, "redis://", "?db=3"), o, &err), WIRE_OK);
    assert_int_equal(greet(local(s.port, "redis://", "?db=99"), o, &err), WIRE_WRONG);
    o.password_file = NULL;
    setenv("REDISCLI_AUTH", "pass word", 1);
    assert_int_equal(greet(local(s.port, "redis://", ""), o, &err), WIRE_OK);
    setenv("WEIR_PASSWORD", "other", 1); /* comes first */
    assert_int_equal(greet(local(s.port, "redis://", ""), o, &err), WIRE_WRONG);
    unsetenv("WEIR_PASSWORD");
    char url[200];
    snprintf(url, sizeof url, "unix:%s", socket);
    assert_int_equal(greet(url, o, &err), WIRE_OK);
    stop_real(&s);
    const char *open[] = {NULL}; /* a server that wants no password is given one */
    s = start_real(open);
    assert_int_equal(greet(local(s.port, "redis://", ""), o, &err), WIRE_OK);
    unsetenv("REDISCLI_AUTH");
    stop_real(&s);
    wire_access *access;
    wire_url u;
    o.password_file = "/nowhere/password";
    assert_int_equal(wire_url_parse(&u, "redis://h", &err), WEIR_OK);
    assert_int_equal(wire_access_new(&access, &o, &u, &err), WEIR_ERR_IO);
    assert_non_null(strstr(err.message, "cannot open the password file '/nowhere/password'"));
    write_file(file, "\n");
    o.password_file = file;
    assert_int_equal(wire_access_new(&access, &o, &u, &err), WEIR_ERR_IO);
    assert_non_null(strstr(err.message, "has no password in its first line"));
    assert_null(access);
    wire_url_release(&u);
}

static void tls(void **state) {
    if (!have_program("redis-server") || !have_program("openssl")) skip();
    (void)state;
    char command[1024], key[160], cert[160], other[160];
    strcpy(key, scratch_path("key.pem"));
    strcpy(cert, scratch_path("cert.pem"));
    strcpy(other, scratch_path("other.pem"));
    for (int i = 0; i < 2; i++) {
        snprintf(
            command, sizeof command,
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
            "-subj /CN=weir -addext subjectAltName=IP:127.0.0.1 -keyout %s -out %s 2>/dev/null",
            key, i ? cert : other);
        assert_int_equal(system(command), 0);
    }
    const char *more[] = {
        "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert, NULL};
    real_server s = start_real_at(free_port(), true, more);
    weir_error err;
    char url[64], named[64];
    strcpy(url, local(s.port, "rediss://", ""));
    snprintf(named, sizeof named, "rediss://localhost:%u", (unsigned)s.port);
    wire_options o = {.ca_file = cert, .cert_file = cert, .key_file = key};
    assert_int_equal(greet(url, o, &err), WIRE_OK);
    assert_int_equal(greet(named, o, &err), WIRE_WRONG); /* the certificate names an address */
    assert_non_null(strstr(err.message, "its certificate is not accepted"));
    o.ca_file = other;
    assert_int_equal(greet(url, o, &err), WIRE_WRONG);
    o.ca_file = NULL;
    assert_int_equal(greet(url, o, &err), WIRE_WRONG);
    o = (wire_options){.ca_file = cert, .reply_ms = 500}; /* the server wants to know who we are */
    assert_int_not_equal(greet(url, o, &err), WIRE_OK);
    o.ca_file = NULL;
    assert_int_equal(greet(local(s.port, "redis://", ""), o, &err), WIRE_LOST);
    assert_non_null(strstr(err.message, "rediss://"));
    stop_real(&s);
    const char *none[] = {NULL};
    s = start_real(none);
    o = (wire_options){.ca_file = cert, .connect_ms = 500};
    assert_int_not_equal(greet(local(s.port, "rediss://", ""), o, &err), WIRE_OK);
    assert_non_null(strstr(err.message, "does it speak TLS"));
    stop_real(&s);
    wire_access *access;
    wire_url u;
    o = (wire_options){.ca_file = "/nowhere.pem"};
    assert_int_equal(wire_url_parse(&u, "rediss://h", &err), WEIR_OK);
    assert_int_equal(wire_access_new(&access, &o, &u, &err), WEIR_ERR_IO);
    assert_non_null(strstr(err.message, "'/nowhere.pem': No such file or directory"));
    o = (wire_options){.cert_file = cert};
    assert_int_equal(wire_access_new(&access, &o, &u, &err), WEIR_ERR_SPEC);
    wire_url_release(&u);
    assert_int_equal(wire_url_parse(&u, "redis://h", &err), WEIR_OK); /* it would not be TLS */
    assert_int_equal(wire_access_new(&access, &o, &u, &err), WEIR_ERR_SPEC);
    assert_non_null(strstr(err.message, "write rediss://"));
    wire_url_release(&u);
}

static void delays_grow(void **state) {
    wire_backoff b = {0};
    (void)state;
    for (int i = 0; i < 20; i++) {
        int64_t most = 20 << (i < 7 ? i : 7);
        if (most > 2000) most = 2000;
        int64_t delay = wire_backoff_next(&b);
        assert_true(delay <= most && delay >= most / 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urls_are_taken_apart),
        cmocka_unit_test(bad_urls_are_refused),
        cmocka_unit_test(passwords_in_urls_are_refused_unsaid),
        cmocka_unit_test(replies_are_parsed),
        cmocka_unit_test(replies_are_bounded),
        cmocka_unit_test(errors_are_explained),
        cmocka_unit_test(fakes_are_survived),
        cmocka_unit_test(waiting_can_be_stopped),
        cmocka_unit_test(nobody_there_is_said),
        cmocka_unit_test(long_pipelines_do_not_lock_up),
        cmocka_unit_test(passwords_users_and_databases),
        cmocka_unit_test(tls),
        cmocka_unit_test(delays_grow),
    };
    int failed = cmocka_run_group_tests_name("wire", tests, NULL, NULL);
    remove_scratch_folder();
    return failed;
}
