/* test_stream_keys.c - which records have the same key: CSV and JSON by value, headers,
 * options that change keys, event times, and what is said when a record has none.
 */
#include <math.h>

#include <weir_cpu.h>

#include "test_stream_util.h"

#include "stream_internal.h"

/* Read records and compare: same[i] gives a letter per record; equal letters must mean equal
 * hashes and different letters different ones; '?' is MISSING, '!' BAD, '#' the header. */
static void expect_with(const stream_options *options, const char *text, const char *same,
                        int line) {
    for (unsigned threads = 1; threads <= 2; threads++) {
        stream_options o = *options;
        o.threads = threads;
        test_all a = test_read_text(&o, text);
        if (a.end != STREAM_END) fail_msg("line %d: %s", line, a.error.message);
        if (a.count != strlen(same)) fail_msg("line %d: %zu records", line, a.count);
        for (size_t i = 0; i < a.count; i++) {
            uint8_t status = same[i] == '?'   ? STREAM_MISSING
                             : same[i] == '!' ? STREAM_BAD
                             : same[i] == '#' ? STREAM_HEADER
                                              : STREAM_RECORD_OK;
            if (a.status[i] != status)
                fail_msg("line %d: record %zu has status %d", line, i + 1, a.status[i]);
            for (size_t j = 0; j < i && !status; j++)
                if (!a.status[j] && (a.hashes[i] == a.hashes[j]) != (same[i] == same[j]))
                    fail_msg("line %d: records %zu and %zu", line, j + 1, i + 1);
        }
        test_all_free(&a);
    }
}
#define expect(options, text, same) expect_with(options, text, same, __LINE__)

static void test_csv_by_value(void **state) {
    (void)state;
    stream_options o = test_options(STREAM_CSV);
    o.key = "2";
    expect(&o, "1,a,x\n2,\"a\",y\n3,b,z\n", "aab");
    expect(&o, "1,\"a\"\"b\"\n2,\"a\"\"b\",3\n3,a\"b\n", "aaa");
    expect(&o, "1,\"x\ny\"\r\n2,\"x\ny\",q\r\n", "aa");
    expect(&o, "1,\n2,\"\"\n3\n\n", "aa??");
    expect(&o, "1,\"a,b\"\n2,a,b\n", "ab");
    expect(&o, "1,\"a\"b\n2,ab\n", "aa");
    expect(&o, "1,\"a\"b\"c\n2,ab\"c\n", "aa");
    expect(&o, "1,a\r\n2,a\n3,\"a\"\r\n4,a", "aaaa");
    expect(&o, "1,a\n2,\"a\n3,a\n", "a!");
    expect(&o, "\"a\"\"\",k\n\"\"\"\",k\n\"\",k\n", "aaa");
    o.key = "1,2";
    expect(&o, "a,bc\nab,c\na,bc\n\"a\",bc\n", "abaa");
    o.key = "2,2,1";
    expect(&o, "a,b\na,b\nb,a\n", "aab");
    o.key = NULL; /* whole rows count by their bytes */
    expect(&o, "a,b\n\"a\",b\na,b\r\na,b", "abaa");
}

static void test_tsv(void **state) {
    (void)state;
    stream_options o = test_options(STREAM_TSV);
    o.key = "2";
    expect(&o, "1\ta\n2\t\"a\"\n3\ta\tz\r\n4\ta\r\n5\n", "abaa?");
    expect(&o, "\"\ta\n\"\ta\n", "aa");
}

static void test_lines(void **state) {
    (void)state;
    stream_options o = test_options(STREAM_LINES);
    expect(&o, "a\na\r\na\n A\n", "abac");
    o.trim = true;
    expect(&o, "a\na\r\n a\t\nA\n\n \n", "aaabcc");
    o.ignore_case = true;
    expect(&o, "a\nA\n\xc3\x84\n\xc3\xa4\n@\n`\n[\n{\n", "aabbcdef");
    o.key_skip_prefix = 3;
    expect(&o, "123a\n456A\n 9 A\n12\n123\n", "aabbb"); /* trimmed first: "9 A" has nothing left */
}

static void test_skip_prefix_cases(void **state) {
    (void)state;
    stream_options o = test_options(STREAM_LINES);
    o.key_skip_prefix = 3;
    expect(&o, "123a\n456a\n12\n\n123\n123b\n", "aabbbc");
    o = test_options(STREAM_CSV);
    o.key = "2,1";
    o.key_skip_prefix = 1; /* of the first part only */
    expect(&o, "aa,xq\naa,yq\nba,xq\n", "aab");
}

static void test_json_by_value(void **state) {
    (void)state;
    stream_options o = test_options(STREAM_JSON);
    o.key = ".k";
    expect(&o,
           "{\"k\":\"A\"}\n{\"k\":\"\\u0041\"}\n{ \"k\" : \"A\" "
           "}\n{\"\\u006b\":\"A\"}\n{\"k\":\"a\"}\n",
           "aaaab");
    expect(&o,
           "{\"k\":1}\n{\"k\":1.0}\n{\"k\":1e0}\n{\"k\":10e-1}\n{\"k\":0.1E+1}\n{\"k\":\"1\"}\n{"
           "\"k\":-1}\n",
           "aaaaabc");
    expect(&o, "{\"k\":0}\n{\"k\":-0}\n{\"k\":0.0e7}\n{\"k\":\"0\"}\n", "aaab");
    expect(&o, "{\"k\":9007199254740992}\n{\"k\":9007199254740993}\n{\"k\":9007199254740993.0}\n",
           "abb");
    expect(&o,
           "{\"k\":123456789012345678901234567890}\n{\"k\":123456789012345678901234567891}\n"
           "{\"k\":12345678901234567890123456789e1}\n",
           "aba");
    expect(&o, "{\"k\":1e400}\n{\"k\":10e399}\n{\"k\":1e99999999999999999999}\n", "aab");
    expect(&o, "{\"k\":100}\n{\"k\":1e2}\n{\"k\":10}\n{\"k\":1}\n", "aabc");
    expect(&o, "{\"k\":true}\n{\"k\":false}\n{\"k\":null}\n{\"k\":\"true\"}\n{\"k\":true}\n{}\n",
           "abcda?");
    expect(&o,
           "{\"k\":[1, 2]}\n{\"k\":[1,2]}\n{\"k\":[2,1]}\n{\"k\":{\"a\" : "
           "1}}\n{\"k\":{\"a\":1}}\n{\"k\":\"[1,2]\"}\n",
           "aabccd");
    expect(&o,
           "{\"k\":[\" a \"]}\n{\"k\":[ \" a \" ]}\n{\"k\":[\"a\"]}\n{\"k\":[\"\\\" "
           "\"]}\n{\"k\":[\"\\\"\"]}\n",
           "aabcd");
    expect(&o,
           "{\"k\":\"\\ud83d\\ude00\"}\n{\"k\":\"\xf0\x9f\x98\x80\"}\n{\"k\":\"\\ud83d\"}\n{\"k\":"
           "\"\\ud83d\\ud83d\"}\n",
           "aabc");
    expect(&o, "{\"k\":\"a\\/b\\n\\t\\\\\"}\n{\"k\":\"a/b\\u000a\\u0009\\u005c\"}\n", "aa");
    expect(&o, "{\"k\":1,\"k\":2}\n{\"k\":1}\n{\"k\":2}\n", "aba"); /* the last counts */
    expect(&o, "{\"k\":1,\"\\u006b\":2}\n{\"k\":2}\n", "aa");
    expect(&o, "{\"a\":{\"k\":9},\"k\":1}\n{\"k\":1,\"z\":[{\"k\":2}]}\n", "aa");
    expect(&o, "{\"k\":\"a\"}\r\n{\"k\":\"a\"}", "aa");
    expect(&o, "\n{\"k\":\"a\"}\n  \n", "?a?");
}

static void test_json_paths(void **state) {
    (void)state;
    stream_options o = test_options(STREAM_JSON);
    o.key = ".u.id,.e";
    expect(&o,
           "{\"u\":{\"id\":1},\"e\":2}\n{\"e\":2,\"u\":{\"x\":0,\"id\":1}}\n{\"u\":{\"id\":1}}\n{"
           "\"u\":1,\"e\":2}\n{\"u\":[],\"e\":2}\n{\"u\":{\"id\":12},\"e\":\"\"}\n",
           "aa???b");
    expect(&o,
           "{\"u\":{\"id\":1},\"u\":{\"id\":2},\"e\":2}\n{\"u\":{},\"u\":{\"id\":2},\"e\":2}\n{"
           "\"u\":{\"id\":1},\"e\":2}\n",
           "aab");
    expect(&o, "{\"u\":{\"id\":1},\"u\":7,\"e\":2}\n", "?"); /* the last u has no id */
    o.key = ".t[1]";
    expect(&o,
           "{\"t\":[0,5]}\n{\"t\":[9,5,7]}\n{\"t\":[5]}\n{\"t\":{\"1\":5}}\n{\"t\":[[5,6],[5]]}\n",
           "aa??b");
    o.key = ".[0]";
    expect(&o, "[1,2]\n[ 1 ]\n[]\n{\"a\":1}\n3\n", "aa?!!");
    o.key = ".\"odd, name\".[\"x.y\"],.";
    expect(&o,
           "{\"odd, name\":{\"x.y\":1}}\n{ \"odd, name\" : {\"x.y\":1} }\n{\"odd, "
           "name\":{\"x.y\":2}}\n",
           "aab");
    o.key = ".a";
    expect(&o, "[1]\n\"a\"\n{\"a\":1}\n", "!!a");
    o.key = NULL; /* whole lines count by their bytes, but must be JSON */
    expect(&o, "{\"a\":1}\n{\"a\": 1}\n[1]\n3\n{\"a\":1}\n{\"a\":}\n\n", "abcda!e");
    o.key = ".a";
    o.ignore_case = o.trim = true;
    o.key_skip_prefix = 1;
    expect(&o,
           "{\"a\":\" xAb "
           "\"}\n{\"a\":\"yab\"}\n{\"a\":\"yac\"}\n{\"a\":12}\n{\"a\":12.0}\n{\"a\":22}\n",
           "aabccd");
    o = test_options(STREAM_JSON);
    o.key = ".k";
    o.terminator = 0;
    const char text[] = "{\"k\":\n1}\0{\"k\":1}\0{\"k\":2}";
    const char *file = test_file(0, text, sizeof text - 1);
    test_all a = test_read(&o, &file, 1);
    assert_int_equal(a.count, 3);
    assert_true(a.hashes[0] == a.hashes[1] && a.hashes[1] != a.hashes[2] && a.hashes[0]);
    test_all_free(&a);
}

/* One line each; all are malformed, and a good line on either side must not suffer. */
static void test_json_malformed(void **state) {
    (void)state;
    static const char *const bad[] = {"{",
                                      "}",
                                      "[",
                                      "]",
                                      "{]",
                                      "[}",
                                      "{\"k\"}",
                                      "{\"k\":}",
                                      "{\"k\":1,}",
                                      "{,\"k\":1}",
                                      "{\"k\":1 \"j\":2}",
                                      "{\"k\" 1}",
                                      "{\"k\"::1}",
                                      "{k:1}",
                                      "{1:1}",
                                      "[1,]",
                                      "[,1]",
                                      "[1 2]",
                                      "{\"k\":1}}",
                                      "{\"k\":1}{}",
                                      "{\"k\":1} x",
                                      "{\"k\":tru}",
                                      "{\"k\":truee}",
                                      "{\"k\":nul}",
                                      "{\"k\":falsy}",
                                      "{\"k\":True}",
                                      "{\"k\":01}",
                                      "{\"k\":1.}",
                                      "{\"k\":.5}",
                                      "{\"k\":-}",
                                      "{\"k\":+1}",
                                      "{\"k\":1e}",
                                      "{\"k\":1e+}",
                                      "{\"k\":1x}",
                                      "{\"k\":0x10}",
                                      "{\"k\":NaN}",
                                      "{\"k\":\"a}",
                                      "{\"k\":\"\\x\"}",
                                      "{\"k\":\"\\u12g4\"}",
                                      "{\"k\":\"\\u12\"}",
                                      "{\"k\":1,\"j\":\"\\q\"}",
                                      "{\"\\q\":1,\"k\":1}",
                                      "{\"k\":\"\t\"}",
                                      "{\"k\":\"\xff\"}",
                                      "{\"k\":\"\xc3\"}",
                                      "{\"k\":\"\xed\xa0\x80\"}",
                                      "{\"k\":'a'}",
                                      "{\"k\":1}\"",
                                      "{\"k\":\"a\"b}",
                                      "{\"k\":a\"b\"}",
                                      "{\"k\":1\"b\"}",
                                      "{\"k\":\"a\"\"b\"}",
                                      "{\"k\":[1}",
                                      "{\"k\":{\"a\":1]}",
                                      "{\"k\":1,\"z\":[1,2}",
                                      "nope",
                                      "{\"k\":1,\"a\":[[]}"};
    stream_options o = test_options(STREAM_JSON);
    for (int pass = 0; pass < 2; pass++) {
        o.key = pass ? NULL : ".k";
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
            char text[256];
            snprintf(text, sizeof text, "{\"k\":7}\n%s\n{\"k\":7}\n", bad[i]);
            test_all a = test_read_text(&o, text);
            assert_int_equal(a.count, 3);
            if (a.status[1] != STREAM_BAD) fail_msg("accepted: %s", bad[i]);
            assert_true(!a.status[0] && !a.status[2] && a.hashes[0] == a.hashes[2]);
            assert_int_equal(a.record_error.record, 2);
            assert_true(a.record_error.offset >= 8 && a.record_error.offset <= 8 + strlen(bad[i]));
            test_all_free(&a);
        }
    }
    char deep[5000] = "";
    for (int depth = 1023; depth <= 1025; depth++) {
        memset(deep, '[', (size_t)depth);
        memset(deep + depth, ']', (size_t)depth);
        deep[2 * depth] = 0;
        o.key = NULL;
        test_all a = test_read_text(&o, deep);
        assert_int_equal(a.status[0], depth > 1024 ? STREAM_BAD : STREAM_RECORD_OK);
        test_all_free(&a);
    }
}

static void test_header(void **state) {
    (void)state;
    stream_options o = test_options(STREAM_CSV);
    o.header = true;
    o.key = "user,\"last, first\"";
    expect(&o, "id,user,\"last, first\"\n1,a,b\n2,a,b\n3,b,a\n", "#aab");
    expect(&o, "\xef\xbb\xbfuser,\"last, first\"\r\na,b\r\na,b\r\n", "#aa");
    expect(&o, "user,\"last, first\"", "#");
    o.key = "2";
    expect(&o, "id,user\n1,a\n2,a\n", "#aa");
    o.key = "usr";
    test_all a = test_read_text(&o, "id,user,url\n1,2,3\n");
    assert_int_equal(a.end, STREAM_FAILED);
    assert_int_equal(a.count, 0);
    assert_non_null(strstr(a.error.message, "no column 'usr'"));
    assert_non_null(strstr(a.error.message, "'user'"));
    test_all_free(&a);
    o.header = false;
    a = test_read_text(&o, "id,user,url\n1,2,3\n");
    assert_int_equal(a.error.cause, STREAM_CAUSE_NO_HEADER);
    test_all_free(&a);
}

static void test_header_of_several_files(void **state) {
    (void)state;
    stream_options o = test_options(STREAM_CSV);
    o.header = true;
    o.key = "k";
    const char *files[] = {test_text(0, ""), test_text(1, "k,v\n1,2\n3,4"), test_text(2, "k,v\n"),
                           test_text(3, "k,v\n1,9\n"), test_text(4, "k,v")};
    for (unsigned threads = 1; threads <= 3; threads++) {
        for (o.block_size = 16; o.block_size < 40; o.block_size++) {
            o.threads = threads;
            test_all a = test_read(&o, files, 5);
            assert_int_equal(a.end, STREAM_END);
            assert_int_equal(a.count, 4);
            assert_int_equal(a.status[0], STREAM_HEADER);
            assert_int_equal(a.numbers[3], 2);
            assert_int_equal(a.offsets[3], 4);
            assert_true(a.hashes[1] == a.hashes[3] && a.hashes[1] != a.hashes[2]);
            test_all_free(&a);
        }
    }
    files[2] = test_text(2, "v,k\n1,2\n");
    test_all a = test_read(&o, files, 5);
    assert_int_equal(a.end, STREAM_FAILED);
    assert_int_equal(a.count, 3);
    assert_non_null(strstr(a.error.message, "header"));
    assert_int_equal(a.error.record, 1);
    test_all_free(&a);
}

static int64_t moment(const char *format, const char *text) {
    stream_options o = test_options(STREAM_TSV);
    o.time_field = "1";
    o.time_format = format;
    char line[200];
    snprintf(line, sizeof line, "%s\n", text);
    test_all a = test_read_text(&o, line);
    if (a.end != STREAM_END) fail_msg("%s", a.error.message);
    int64_t t = a.status[0] == STREAM_BAD ? INT64_MIN : a.times[0];
    test_all_free(&a);
    return t;
}

static void test_times(void **state) {
    (void)state;
    const int64_t s = 1000000000ll;
    assert_int_equal(moment(NULL, "1700000000"), 1700000000 * s);
    assert_int_equal(moment("unix", "1700000000.25"), 1700000000 * s + s / 4);
    assert_int_equal(moment("unix", " -1.5 "), -3 * s / 2);
    assert_int_equal(moment("unix", "1.7e9"), 1700000000 * s);
    assert_int_equal(moment("unix-ms", "1700000000250"), 1700000000 * s + s / 4);
    assert_int_equal(moment("unix-us", "5"), 5000);
    assert_int_equal(moment("unix-ns", "5"), 5);
    assert_int_equal(moment("iso", "1970-01-01"), 0);
    assert_int_equal(moment("iso", "2024-02-29T12:34:56Z"), 1709210096 * s);
    assert_int_equal(moment("iso", "2024-02-29 12:34:56.5"), 1709210096 * s + s / 2);
    assert_int_equal(moment("iso", "2024-02-29T13:34:56+01:00"), 1709210096 * s);
    assert_int_equal(moment("iso", "20240229T073456-0500"), 1709210096 * s);
    assert_int_equal(moment("iso", "1969-12-31T23:59Z"), -60 * s);
    assert_int_equal(moment("%d/%b/%Y:%H:%M:%S %z", "29/Feb/2024:13:34:56 +0100"), 1709210096 * s);
    assert_int_equal(moment("%Y-%m-%d %H:%M:%S.%f", "2024-02-29 12:34:56.25"),
                     1709210096 * s + s / 4);
    static const char *const bad[][2] = {{"unix", "x"},
                                         {"unix", ""},
                                         {"unix", "1 2"},
                                         {"unix", "99999999999999999999"},
                                         {"unix", "9999999999999"},
                                         {"iso", "2023-02-29"},
                                         {"iso", "2024-13-01"},
                                         {"iso", "2024-01-01T25:00"},
                                         {"iso", "2024-01-01T10:00x"},
                                         {"iso", "24-01-01"},
                                         {"%Y", "20x"},
                                         {"iso", "9999-01-01"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_true(moment(bad[i][0], bad[i][1]) == INT64_MIN);
    stream_options o = test_options(STREAM_JSON);
    o.time_field = ".t";
    o.key = ".k";
    expect(
        &o,
        "{\"k\":1,\"t\":5}\n{\"k\":1,\"t\":\"5.5\"}\n{\"k\":1}\n{\"t\":5}\n{\"k\":1,\"t\":\"x\"}\n",
        "aa?"
        "?!");
    test_all a = test_read_text(&o, "{\"k\":1,\"t\":5}\n{\"k\":1,\"t\":\"5\\u002e5\"}\n");
    assert_int_equal(a.times[0], 5 * s);
    assert_int_equal(a.times[1], 5 * s + s / 2);
    test_all_free(&a);
    o.time_format = "iSO";
    a = test_read_text(&o, "");
    assert_int_equal(a.end, STREAM_FAILED);
    test_all_free(&a);
}

/* Not a number for what is none. */
static double number(const char *text) {
    stream_options o = test_options(STREAM_TSV);
    o.number_field = "1";
    o.number_option = "--importance";
    char line[600];
    snprintf(line, sizeof line, "%s\n", text);
    test_all a = test_read_text(&o, line);
    if (a.end != STREAM_END) fail_msg("%s", a.error.message);
    assert_int_equal(a.status[0] == STREAM_BAD, isnan(a.values[0]));
    double x = a.values[0];
    test_all_free(&a);
    return x;
}

static void test_numbers(void **state) {
    (void)state;
    static const char *const good[] = {"0",
                                       "17",
                                       "-3",
                                       "+4.5",
                                       " 2.25 ",
                                       ".5",
                                       "5.",
                                       "1e3",
                                       "1E-300",
                                       "-0.125",
                                       "123456789012345",
                                       "1234567890123456789",
                                       "0.000000000000001",
                                       "3.141592653589793238462643",
                                       "99999999999999.9",
                                       "-1.7976931348623157e308"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(number(good[i]) == strtod(good[i], NULL));
    char endless[500];
    memset(endless, '1', sizeof endless - 1);
    endless[sizeof endless - 1] = 0;
    const char *const bad[] = {"",          " ",    "x",     "nan", "NAN",  "inf",
                               "-Infinity", "0x10", "1 2",   "1e",  "-",    ".",
                               "1e999",     "--1",  "1.2.3", "1,5", "1e5.", endless};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (!isnan(number(bad[i]))) fail_msg("'%s' was taken for a number", bad[i]);

    stream_options o = test_options(STREAM_JSON); /* beside a key and a time */
    o.key = ".k";
    o.time_field = ".t";
    o.number_field = ".n[0]";
    o.number_option = "--importance";
    expect(&o,
           "{\"k\":1,\"t\":5,\"n\":[2]}\n{\"k\":1,\"t\":5,\"n\":[\"2.5\"]}\n"
           "{\"k\":1,\"t\":5,\"n\":[]}\n{\"k\":1,\"t\":5,\"n\":[null]}\n\n",
           "aa?!?");
    test_all a = test_read_text(
        &o, "{\"k\":1,\"t\":5,\"n\":[2]}\n{\"k\":1,\"t\":6,\"n\":[\"2\\u002e5\"]}\n");
    assert_true(a.values[0] == 2 && a.values[1] == 2.5 && a.times[1] == 6000000000ll);
    test_all_free(&a);
    o = test_options(STREAM_CSV);
    o.header = true;
    o.key = "id";
    o.number_field = "sum";
    o.number_option = "--importance";
    expect(&o, "id,x,sum\n1,,3\n1,,\"4\"\n1\n1,,4 apples\n", "#aa?!");
    a = test_read_text(&o, "id,sum\nk,\"4.5\"\n");
    assert_true(a.values[1] == 4.5);
    test_all_free(&a);
    o.number_field = "1,2";
    a = test_read_text(&o, "");
    assert_int_equal(a.end, STREAM_FAILED);
    assert_non_null(strstr(a.error.message, "--importance"));
    test_all_free(&a);
    o = test_options(STREAM_LEN32);
    o.number_field = "1";
    o.number_option = "--importance";
    a = test_read_text(&o, "");
    assert_non_null(strstr(a.error.message, "leave out --importance"));
    test_all_free(&a);
}

/* Ranges, and fields that are counted from the end. */
static void test_ranges(void **state) {
    (void)state;
    stream_options o = test_options(STREAM_CSV);
    o.key = "2-3";
    expect(&o, "1,a,b,c\n2,a,b,d\n3,ab,,c\n4,\"a\",b\n5,a\n", "aaba?");
    o.key = "2-";
    expect(&o, "1,a\n2,a\n3,a,\n4,a,b\n5\n6,\"a\"\n", "aabc?a");
    o.key = "-1";
    expect(&o, "1,a\n2,x,a\na\n3,b\n", "aaab");
    o.key = "-2,1";
    expect(&o, "1,a\n1,z\n1,x,1\nq,1,x\na\n", "aabc?");
    o.key = "2--2";
    expect(&o, "1,a,b,9\n2,a,b,8\n3,a,8\n4,8\n", "aab?");
    /* Spelled in different ways, the same key. */
    static const char *const ways[] = {"2,3", "2-3", "2-", "2--1", "-2-"};
    uint64_t first = 0;
    for (int i = 0; i < 5; i++) {
        o.key = ways[i];
        test_all a = test_read_text(&o, "x,y,\"z\"\n");
        if (i == 0) first = a.hashes[0];
        assert_true(a.hashes[0] == first);
        test_all_free(&a);
    }
    /* A row of many columns makes the finder's room grow. */
    char row[2001];
    memset(row, ',', 1999);
    memcpy(row + 1999, "k", 2);
    o.key = "-1";
    test_all a = test_read_text(&o, row);
    assert_true(a.hashes[0] == test_hash(NULL, "k", 1));
    test_all_free(&a);
}

static void test_fields_of_lines(void **state) {
    (void)state;
    stream_options o = test_options(STREAM_LINES);
    o.key = "2";
    expect(&o, "a b c\n  x\t \tb\nb a\nb\n\n   \n", "aab???");
    o.key = "1,3";
    expect(&o, "a x b\na y b z\na b\nb x a\n", "aa?b");
    o.key = "-1";
    expect(&o, "a b\nb\n x  b  \na c", "aaab");
    o.key = "2";
    o.delimiter = ";";
    expect(&o, "1;a\n2;a;c\n3;;\n4;\n5\n6; a\n", "aabb?c");
    o.delimiter = "\\t";
    expect(&o, "1\ta\n2\ta b\n3\ta\t\n", "aba");
    o.delimiter = "::";
    expect(&o, "1::a\n2:::a\n3::a::b\n4:a\n5::\n", "aba?c");
    o.key = "-1";
    expect(&o, "a::b\nb\n::b\n", "aaa");
    o = test_options(STREAM_CSV);
    o.key = "2";
    o.delimiter = ";";
    expect(&o, "1;\"a;b\"\n2;\"a;b\";c\n3;a,b\n\"x\n\";a,b\n", "aabb");
    static const char *const bad[] = {"", "ab", "\"", "\n"};
    for (int i = 0; i < 4; i++) {
        o.delimiter = bad[i];
        test_all a = test_read_text(&o, "");
        assert_non_null(strstr(a.error.message, "delimiter"));
        test_all_free(&a);
    }
    /* Long lines: words at every place of a chunk, in every version of the scan. */
    o = test_options(STREAM_LINES);
    uint64_t seed = 3;
    for (int level = WEIR_CPU_SCALAR; level <= WEIR_CPU_AVX512; level++) {
        const char *name = weir_cpu_name((weir_cpu_level)level);
        if (!name || weir_cpu_choose(name, NULL) != WEIR_OK) continue;
        for (int round = 0; round < 300; round++) {
            char line[400], copy[400], spec[16], *word, *rest = copy;
            size_t n = test_random(&seed) % 399;
            for (size_t i = 0; i < n; i++) line[i] = " \tabc"[test_random(&seed) % 5];
            line[n] = 0;
            strcpy(copy, line);
            unsigned wanted = 1 + test_random(&seed) % 40;
            for (unsigned i = 0; (word = strtok_r(rest, " \t", &rest)) && ++i < wanted;) continue;
            snprintf(spec, sizeof spec, "%u", wanted);
            o.key = spec;
            test_all a = test_read_text(&o, line);
            assert_int_equal(a.count, n > 0);
            if (n && word) assert_true(a.hashes[0] == test_hash(NULL, word, strlen(word)));
            if (n) assert_int_equal(a.status[0], word ? STREAM_RECORD_OK : STREAM_MISSING);
            test_all_free(&a);
        }
    }
    weir_cpu_choose(NULL, NULL);
}

static void test_web_log(void **state) {
    (void)state;
    static const char text[] = "h1 - frank [10/Oct/2000:13:55:36 -0700] \"GET /a?b=1 HTTP/1.0\" "
                               "200 23 \"http://r/\" \"M \\\"x\\\" 4\"\n"
                               "h2 - - [10/Oct/2000:13:55:36 -0700] \"GET /a?b=1 HTTP/1.1\" 404 -\n"
                               "h1 - - [10/Oct/2000:13:55:37 -0700] \"-\" 400 0 \"-\" \"-\"\n"
                               "h3 - - [10/Oct/2000:13:55:37 -0700] \"GET / HTTP/1.1 200\n"
                               "h3\n";
    stream_options o = test_options(STREAM_CLF);
    static const char *const cases[][2] = {
        {"host", "abacc"},     {"url", "aa?!?"},   {"status", "abc!?"},
        {"method", "aab!?"},   {"agent", "a?b!?"}, {"protocol", "ab?!?"},
        {"host,url", "ab?!?"}, {"1,6", "abc!?"},   {"request", "abc!?"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        o.key = cases[i][0];
        expect(&o, text, cases[i][1]);
    }
    o.key = "host";
    o.time_field = "time";
    test_all a = test_read_text(&o, text);
    assert_int_equal(a.times[0], 971211336000000000);
    assert_int_equal(a.times[2] - a.times[0], 1000000000);
    test_all_free(&a);
}

/* The mark is no part of a record, and the first file's is told to the writer. */
static void test_byte_order_mark(void **state) {
    (void)state;
    stream_options o = test_options(STREAM_CSV);
    o.key = "1";
    expect(&o, "\xef\xbb\xbf\"a,b\",1\n\"a,b\",2\nb,3\n", "aab");
    o.key = NULL;
    expect(&o,
           "\xef\xbb\xbf"
           "a,b\na,b\n",
           "aa");
    o.header = true;
    o.key = "a";
    expect(&o,
           "\xef\xbb\xbf"
           "a,b\n1,2\n1,3\n",
           "#aa");
    const char *files[] = {test_text(0, "a,b\n1,2\n"), test_text(1, "\xef\xbb\xbf"
                                                                    "a,b\n1,3\n")};
    for (o.block_size = 0; o.block_size < 64; o.block_size += 16) {
        test_all a = test_read(&o, files, 2);
        assert_int_equal(a.end, STREAM_END);
        assert_int_equal(a.count, 3);
        assert_true(a.hashes[1] == a.hashes[2]);
        test_all_free(&a);
    }
    o = test_options(STREAM_LINES); /* lines are bytes */
    expect(&o,
           "\xef\xbb\xbf"
           "a\na\n",
           "ab");
}

static void test_header_numbers(void **state) {
    (void)state;
    static const char *const keys[] = {"3", "1-3", "3-", "-3"};
    stream_options o = test_options(STREAM_CSV);
    o.header = true;
    for (int i = 0; i < 4; i++) {
        o.key = keys[i];
        test_all a = test_read_text(&o, "a,b\n1,2\n");
        assert_int_equal(a.end, STREAM_FAILED);
        assert_non_null(strstr(a.error.message, "its header has 2"));
        test_all_free(&a);
    }
    o.key = "-2";
    expect(&o, "a,b\n1,2\n1,3\n", "#aa");
}

static void test_json_lists(void **state) {
    (void)state;
    stream_options o = test_options(STREAM_JSON);
    o.key = ".t[-1]";
    expect(&o, "{\"t\":[1,2]}\n{\"t\":[[5,6],{\"a\":1},2.0]}\n{\"t\":[2]}\n{\"t\":[]}\n{\"t\":2}\n",
           "aaa??");
    o.key = ".t[-2].k";
    expect(&o, "{\"t\":[{\"k\":[1,2]},0]}\n{\"t\":[9,{\"k\":[1, 2]},[]]}\n{\"t\":[{\"k\":1}]}\n",
           "aa?");
    o.key = ".t[]";
    expect(&o,
           "{\"t\":[1,\"a\"]}\n{\"t\":[1.0, "
           "\"\\u0061\"]}\n{\"t\":[\"a\",1]}\n{\"t\":[]}\n{\"t\":[1,\"a\",{}]}\n",
           "aab?c");
    o.key = ".t[].id,.k";
    expect(&o,
           "{\"t\":[{\"id\":1},{\"id\":2}],\"k\":0}\n{\"k\":0,\"t\":[{\"x\":[],\"id\":1},{},{"
           "\"id\":2.0}]}\n"
           "{\"t\":[{\"id\":[1]},{\"id\":2}],\"k\":0}\n{\"t\":[{\"id\":3,\"id\":1},{\"id\":2}],"
           "\"k\":0}\n"
           "{\"t\":[{\"id\":9}],\"t\":[{\"id\":1},{\"id\":2}],\"k\":0}\n{\"t\":[{\"id\":1},{\"id\":"
           "2}]}\n",
           "aabaa?");
    o.key = NULL;
    o.time_field = ".t[]";
    test_all a = test_read_text(&o, "");
    assert_non_null(strstr(a.error.message, "not a list"));
    test_all_free(&a);
}

/* A file that is one array, in blocks of every size. */
static void test_json_array(void **state) {
    (void)state;
    stream_options o = test_options(STREAM_JSON);
    o.key = ".k";
    for (o.block_size = 0; o.block_size < 64; o.block_size += 16) {
        expect(&o, "[{\"k\":1},{\"k\":\"],\\\"[\"} , {\"k\":1,\n\"z\":[1,{}]}]", "aba");
        expect(&o, "\xef\xbb\xbf \n[\n  {\"k\":1},\n  {\n\"k\":2}\n]\n\n", "ab");
        expect(&o, "[]", "");
        expect(&o, "[{\"k\":1},,{\"k\":1}]", "a!");
        expect(&o, "[{\"k\":1},]", "a!");
        expect(&o, "[{\"k\":1}]\n{\"k\":1}\n", "aa");
    }
    o.key = NULL;
    expect(&o, "[\n1,\n2 ,\n1\n]\n", "aba");
    expect(&o, "[\n1 2,\n12\n]\n", "!a");
    expect(&o, "[1,2]\n[1,2]\n", "aa"); /* lines that are arrays */
    o.key = ".k";
    test_all a = test_read_text(&o, "[{\"k\":1},{\"k\":2}");
    assert_int_equal(a.end, STREAM_FAILED);
    assert_non_null(strstr(a.error.message, "before its array is closed"));
    test_all_free(&a);
    /* Going on in the middle. */
    a = test_read_text(&o, "[{\"k\":1},{\"k\":2},{\"k\":3}]");
    o.start = (stream_position){.file = 0, .offset = a.offsets[1], .record = 1};
    test_all b = test_read_text(&o, "[{\"k\":1},{\"k\":2},{\"k\":3}]");
    assert_int_equal(b.count, 2);
    assert_true(b.hashes[0] == a.hashes[1] && b.hashes[1] == a.hashes[2]);
    test_all_free(&a);
    test_all_free(&b);
}

static void test_unicode(void **state) {
    (void)state;
    stream_options o = test_options(STREAM_LINES);
    o.ignore_case = true;
    expect(&o,
           "STRASSE\nstra\xc3\x9f"
           "e\n\xce\xa3\n\xcf\x83\n\xcf\x82\nA\xff\na\xff\n\xc3\x84\xff\n\xc3\xa4\xff\n",
           "aabbbccde");
    o.ignore_case = false;
    expect(&o, "\xc3\xa9\ne\xcc\x81\n", "ab");
    o.normalize = STREAM_NFC;
    expect(&o, "\xc3\xa9\ne\xcc\x81\nE\xcc\x81\n\xef\xac\x81\nfi\n", "aabcd");
    o.normalize = STREAM_NFKC;
    o.ignore_case = true;
    expect(&o, "\xc3\xa9\nE\xcc\x81\n\xef\xac\x81\nFI\n", "aabb");
    o.format = STREAM_JSON;
    o.key = ".k,.t[]";
    expect(&o, "{\"k\":\"\xc3\xa9\",\"t\":[\"A\"]}\n{\"k\":\"E\\u0301\",\"t\":[\"a\"]}\n", "aa");
    o.format = STREAM_CSV;
    o.key = "1,2";
    expect(&o, "\xc3\x89,x\ne\xcc\x81,X\n", "aa");
}

static void test_time_looks(void **state) {
    (void)state;
    static const struct {
        const char *format, *time, *said;
        stream_cause cause;
    } cases[] = {{NULL, "1700000000000", "milliseconds", STREAM_CAUSE_TIME_MS},
                 {NULL, "1700000000000000", "microseconds", STREAM_CAUSE_TIME_US},
                 {"unix-ms", "1700000000000000000", "nanoseconds", STREAM_CAUSE_TIME_NS},
                 {"iso", "1700000000", "seconds", STREAM_CAUSE_TIME_UNIX},
                 {"iso", "1700000000.5", "seconds", STREAM_CAUSE_TIME_UNIX},
                 {NULL, "2024-02-29T00:00:00Z", "ISO 8601", STREAM_CAUSE_TIME_ISO},
                 {NULL, "10/Oct/2000:13:55:36 -0700", "web log", STREAM_CAUSE_TIME_CLF},
                 {NULL, "99999999999", "years 1678 to 2262", STREAM_CAUSE_OTHER},
                 {NULL, "soon", "not a number since 1970", STREAM_CAUSE_TIME},
                 {"unix-ms", ",", "empty", STREAM_CAUSE_OTHER},
                 {"iso", "2024-13-02", "not one of ISO 8601", STREAM_CAUSE_TIME},
                 {"clf", "soon", "not that of a web log", STREAM_CAUSE_TIME},
                 {"%Y", "soon", "does not fit the pattern", STREAM_CAUSE_TIME}};
    stream_options o = test_options(STREAM_CSV);
    o.time_field = "1";
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        o.time_format = cases[i].format;
        test_all a = test_read_text(&o, cases[i].time);
        assert_int_equal(a.status[0], STREAM_BAD);
        if (!strstr(a.record_error.message, cases[i].said))
            fail_msg("'%s'", a.record_error.message);
        assert_int_equal(a.record_error.cause, cases[i].cause);
        test_all_free(&a);
    }
}

/* Specs that cannot be meant. */
static void test_refused(void **state) {
    (void)state;
    static const struct {
        stream_format format;
        const char *key;
    } bad[] = {{STREAM_LINES, "user"},
               {STREAM_LINES, "4-2"},
               {STREAM_CSV, "-0"},
               {STREAM_CSV, "1-65"},
               {STREAM_CSV, "-1--3"},
               {STREAM_CLF, "10"},
               {STREAM_CLF, "-1"},
               {STREAM_CLF, "ulr"},
               {STREAM_JSON, ".a[-0]"},
               {STREAM_JSON, ".a[-]"},
               {STREAM_CSV, ""},
               {STREAM_CSV, "0"},
               {STREAM_CSV, "1,"},
               {STREAM_CSV, ",1"},
               {STREAM_CSV, "99999999"},
               {STREAM_CSV, "\"a"},
               {STREAM_CSV, "name"},
               {STREAM_JSON, "a"},
               {STREAM_JSON, ".a."},
               {STREAM_JSON, ".a["},
               {STREAM_JSON, ".a[x]"},
               {STREAM_JSON, ".\"a"},
               {STREAM_JSON, ".a b,"},
               {STREAM_JSON, "..a"},
               {STREAM_LEN32, ".a"},
               {STREAM_CSV,
                "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,"
                "27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,"
                "51,52,53,54,55,56,57,58,59,60,61,62,63,64,65"}};
    const char *file = test_text(0, "");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        stream_options o = test_options(bad[i].format);
        o.key = bad[i].key;
        test_all a = test_read(&o, &file, 1);
        if (a.end != STREAM_FAILED) fail_msg("accepted --key '%s'", bad[i].key);
        assert_true(a.error.message[0] >= 'a' && a.error.message[0] <= 'z');
        test_all_free(&a);
    }
    stream_format format;
    uint32_t size;
    stream_error err;
    assert_int_equal(stream_parse_format("fixed:16", &format, &size, &err), STREAM_OK);
    assert_true(format == STREAM_FIXED && size == 16);
    assert_int_equal(stream_parse_format("json", &format, &size, &err), STREAM_OK);
    assert_int_equal(stream_parse_format("jsn", &format, &size, &err), STREAM_FAILED);
    assert_non_null(strstr(err.message, "'json'"));
    assert_int_equal(stream_parse_format("fixed:0", &format, &size, &err), STREAM_FAILED);
    assert_int_equal(stream_parse_format("fixed", &format, &size, &err), STREAM_FAILED);
    assert_int_equal(stream_parse_format("fixed:2G", &format, &size, &err), STREAM_FAILED);
}

/* As text and as items: by value, whatever the type. */
static void test_json_values(void **state) {
    (void)state;
    stream_options o = test_options(STREAM_JSON);
    o.key = ".k";
    o.json_values = STREAM_AS_TEXT;
    expect(&o, "{\"k\":1}\n{\"k\":1.0}\n{\"k\":\"1\"}\n{\"k\":\"1.0\"}\n{\"k\":10e-1}\n", "aaaba");
    expect(&o, "{\"k\":null}\n{\"k\":\"\"}\n{\"k\":true}\n{\"k\":\"true\"}\n{\"k\":false}\n",
           "aabbc");
    expect(&o, "{\"k\":[\"\\u0041\",1.0]}\n{\"k\":[\"A\",1]}\n{\"k\":[\"A\",null]}\n", "aab");
    o.json_values = STREAM_AS_ITEMS;
    expect(&o, "{\"k\":[100]}\n{\"k\":1e2}\n{\"k\":[\"100\",null]}\n{\"k\":[1e2,100]}\n", "aaab");
    expect(&o, "{\"k\":true}\n{\"k\":[true]}\n{\"k\":[\"true\"]}\n{\"k\":null}\n{\"k\":[]}\n",
           "aaabb");
    expect(&o, "{\"k\":{\"a\": 1}}\n{\"k\":[{\"a\":1}]}\n{\"k\":[{\"a\":1},1]}\n", "aab");
    o.key = ".k,.l";
    expect(&o, "{\"k\":1,\"l\":[2.0]}\n{\"k\":[1],\"l\":2}\n{\"k\":[1,2],\"l\":[]}\n", "aab");
}

static void test_json_plain(void **state) {
    (void)state;
    static const char *const spelled[][2] = {
        {"0", "0"},
        {"-0.0e5", "0"},
        {"-1200", "-1200"},
        {"12e2", "1200"},
        {"1.50", "1.5"},
        {"-15e-1", "-1.5"},
        {"100.25", "100.25"},
        {"0.05", "0.05"},
        {"-5e-2", "-0.05"},
        {"1e39", "1000000000000000000000000000000000000000"},
        {"1e40", "1e40"},
        {"1e-40", "0.0000000000000000000000000000000000000001"},
        {"1e-41", "1e-41"},
        {"10e399", "1e400"},
        {"1e99999999999999999999", "1E99999999999999999999"},
        {"12345678901234567890123456789012345678901234567890", /* a digit more would be too long */
         "1234567890123456789012345678901234567890123456789e1"},
    };
    stream_buffer out = {0};
    for (size_t i = 0; i < sizeof spelled / sizeof *spelled; i++) {
        out.length = 0;
        assert_true(
            stream__json_text((const unsigned char *)spelled[i][0], strlen(spelled[i][0]), &out));
        assert_true(stream__buffer_append(&out, "", 1));
        assert_string_equal(out.bytes, spelled[i][1]);
    }
    stream__buffer_release(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_csv_by_value),
        cmocka_unit_test(test_tsv),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_skip_prefix_cases),
        cmocka_unit_test(test_json_by_value),
        cmocka_unit_test(test_json_values),
        cmocka_unit_test(test_json_plain),
        cmocka_unit_test(test_json_paths),
        cmocka_unit_test(test_json_malformed),
        cmocka_unit_test(test_header),
        cmocka_unit_test(test_header_of_several_files),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_fields_of_lines),
        cmocka_unit_test(test_web_log),
        cmocka_unit_test(test_byte_order_mark),
        cmocka_unit_test(test_header_numbers),
        cmocka_unit_test(test_json_lists),
        cmocka_unit_test(test_json_array),
        cmocka_unit_test(test_unicode),
        cmocka_unit_test(test_time_looks),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
