/* broker_url.c - SCHEME://[USER@]HOSTS/NAME[?PARAMETER=VALUE&...]
 *
 * A word on the command line can be read by everybody on the machine, so a password in it is
 * refused rather than used.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "broker_internal.h"

enum { KINDS = 3 };
static const broker_kind *const kinds[KINDS] = {&broker__redis, &broker__nats, &broker__kafka};

/* Is a word one of "a|b|c"? */
static bool is_one_of(const char *word, size_t length, const char *names) {
    for (const char *at = names; *at;) {
        size_t n = strcspn(at, "|");
        if (n == length && !strncmp(at, word, n)) return true;
        at += n + (at[n] == '|');
    }
    return false;
}

const broker_kind *broker__kind(const char *scheme) {
    for (size_t i = 0; i < KINDS; i++)
        if (is_one_of(scheme, strlen(scheme), kinds[i]->schemes)) return kinds[i];
    return NULL;
}

/* The length of a scheme that some broker has, or 0. */
static size_t known_scheme(const char *text) {
    size_t length = strcspn(text, ":");
    if (!text[length]) return 0;
    for (size_t i = 0; i < KINDS; i++)
        if (is_one_of(text, length, kinds[i]->schemes)) return length;
    return 0;
}

bool broker_is_redis(const broker_url *url) { return broker__kind(url->scheme) == &broker__redis; }

/* %41 is A, in place. false: not so written. */
static bool unescape(char *text) {
    char *to = text;
    for (const char *at = text; *at; at++) {
        unsigned code;
        if (*at != '%') {
            *to++ = *at;
            continue;
        }
        if (!isxdigit((unsigned char)at[1]) || !isxdigit((unsigned char)at[2]) ||
            sscanf(at + 1, "%2x", &code) != 1 || !code)
            return false;
        *to++ = (char)code;
        at += 2;
    }
    *to = 0;
    return true;
}

/* Without repeating it, nor the URL. */
static stream_status password_given(stream_error *err) {
    return broker__fail(err, "a password does not belong on a command line, where all can read it; "
                             "use ?password-file=FILE, or WEIR_PASSWORD in the environment");
}

/* What a parameter may be, where that is one of a few words; the first is the standard. */
static const char *choices_of(const char *name) {
    static const struct {
        const char *name, *choices;
    } all[] = {{"start", "first|new"}, {"transactions", "yes|no"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(name, all[i].name)) return all[i].choices;
    return NULL;
}

static stream_status check_value(const broker_url *url, const char *name, const char *value,
                                 stream_error *err) {
    const char *choices = choices_of(name);
    if (!*value) return broker__fail(err, "'%s' of '%s' is empty", name, url->text);
    if (!choices || is_one_of(value, strlen(value), choices)) return STREAM_OK;
    return broker__fail(err, "%s=%s of '%s' cannot be; it is %.*s or %s", name, value, url->text,
                        (int)strcspn(choices, "|"), choices, strchr(choices, '|') + 1);
}

static stream_status parse_parameters(broker_url *url, char *at, const char *known,
                                      stream_error *err) {
    size_t most = 1;
    for (const char *c = at; *c; c++) most += *c == '&';
    url->parameters = calloc(most, sizeof *url->parameters);
    if (!url->parameters) return broker__no_memory(err);
    while (*at) {
        char *end = at + strcspn(at, "&"), *next = *end ? end + 1 : end;
        *end = 0;
        char *value = strchr(at, '=');
        if (!value || value == at)
            return broker__fail(err, "'%s' of '%s' is no parameter; it looks like group=NAME", at,
                                url->text);
        *value++ = 0;
        if (!strcmp(at, "password")) return password_given(err);
        if (!is_one_of(at, strlen(at), known)) {
            char list[256];
            snprintf(list, sizeof list, "%s", known);
            for (char *c = list; *c; c++)
                if (*c == '|') *c = ' ';
            return broker__fail(err, "'%s' of '%s' is not known there; there are: %s", at,
                                url->text, list);
        }
        if (!unescape(value))
            return broker__fail(err, "'%s' of '%s' has a %% that is not followed by two hex digits",
                                at, url->text);
        if (check_value(url, at, value, err) != STREAM_OK) return STREAM_FAILED;
        url->parameters[url->parameter_count].name = at;
        url->parameters[url->parameter_count++].value = value;
        at = next;
    }
    return STREAM_OK;
}

/* What follows unix: is the path of a socket; the stream is the parameter `name`. */
static stream_status parse_socket(broker_url *url, char *at, stream_error *err) {
    url->hosts = at;
    for (size_t i = 0; i < url->parameter_count; i++)
        if (!strcmp(url->parameters[i].name, "name")) url->name = url->parameters[i].value;
    if (*at == '/' && url->name && *url->name) return STREAM_OK;
    return broker__fail(err, "'%s' names no %s; it looks like unix:/run/redis.sock?name=STREAM",
                        url->text, *at == '/' ? "stream" : "socket");
}

/* What follows other schemes: //user@hosts/name. */
static stream_status parse_place(broker_url *url, char *at, stream_error *err) {
    if (strncmp(at, "//", 2) != 0)
        return broker__fail(err, "'%s' has no // after its scheme; it looks like %s://HOST/NAME",
                            url->text, url->scheme);
    at += 2;
    char *name = strchr(at, '/');
    if (!name || !name[1])
        return broker__fail(err, "'%s' names no stream; it looks like %s://HOST/NAME", url->text,
                            url->scheme);
    *name++ = 0;
    url->name = name;
    url->hosts = at;
    char *user = strrchr(at, '@');
    if (user) {
        *user = 0;
        url->user = at;
        url->hosts = user + 1;
        if (strchr(url->user, ':')) return password_given(err);
    }
    if (!*url->hosts) return broker__fail(err, "'%s' names no host", url->text);
    if (!unescape(url->user) || !unescape(url->name))
        return broker__fail(err, "'%s' has a %% that is not followed by two hex digits", url->text);
    return STREAM_OK;
}

/* The copy of the text, whose scheme has that length. */
static stream_status take_apart(broker_url *url, char *copy, size_t length, broker_role role,
                                stream_error *err) {
    url->scheme = copy;
    copy[length] = 0;
    const broker_kind *kind = broker__kind(url->scheme);
    char *place = copy + length + 1, *query = place + strcspn(place, "?");
    if (*query) *query++ = 0;
    bool reads = role == BROKER_SOURCE;
    if (reads ? !kind->source : !kind->sink)
        return broker__fail(err, "this weir was built without %s, which '%s' needs", kind->library,
                            url->text);
    if (parse_parameters(url, query, reads ? kind->source_parameters : kind->sink_parameters,
                         err) != STREAM_OK)
        return STREAM_FAILED;
    return strcmp(url->scheme, "unix") ? parse_place(url, place, err)
                                       : parse_socket(url, place, err);
}

stream_status broker_url_parse(broker_url *url, const char *text, broker_role role,
                               stream_error *err) {
    static char nobody[] = "";
    size_t length = known_scheme(text);
    *url = (broker_url){.user = nobody};
    if (!length)
        return broker__fail(err,
                            "'%s' is no URL of a stream; it looks like redis://HOST/STREAM, "
                            "nats://HOST/STREAM or kafka://HOST/TOPIC",
                            text);
    url->text = strdup(text);
    url->memory = strdup(text);
    stream_status status = url->text && url->memory
                               ? take_apart(url, url->memory, length, role, err)
                               : broker__no_memory(err);
    if (status != STREAM_OK) broker_url_release(url);
    return status;
}

void broker_url_release(broker_url *url) {
    free(url->text);
    free(url->memory);
    free(url->parameters);
    *url = (broker_url){0};
}

const char *broker_url_get(const broker_url *url, const char *name, const char *standard) {
    for (size_t i = 0; i < url->parameter_count; i++)
        if (!strcmp(url->parameters[i].name, name)) return url->parameters[i].value;
    return standard;
}

stream_status broker_url_ms(const broker_url *url, const char *name, uint64_t standard,
                            uint64_t *ms, stream_error *err) {
    const char *text = broker_url_get(url, name, NULL);
    weir_error reason;
    int64_t nanoseconds;
    *ms = standard;
    if (!text) return STREAM_OK;
    if (weir_parse_duration(text, &nanoseconds, &reason))
        return broker__fail(err, "%s=%s of '%s': %s", name, text, url->text, reason.message);
    if (nanoseconds < 1000000)
        return broker__fail(err, "%s=%s of '%s' is too short; the least is 1ms", name, text,
                            url->text);
    *ms = (uint64_t)nanoseconds / 1000000;
    return STREAM_OK;
}

stream_status broker_password(const broker_url *url, char **secret, stream_error *err) {
    const char *path = broker_url_get(url, "password-file", NULL);
    const char *given = getenv("WEIR_PASSWORD");
    *secret = NULL;
    if (!path) {
        if (given && !(*secret = strdup(given))) return broker__no_memory(err);
        return STREAM_OK;
    }
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t room = 0;
    ssize_t length = file ? getline(&line, &room, file) : -1;
    int reason = errno;
    if (file) fclose(file);
    while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r')) line[--length] = 0;
    if (length > 0) {
        *secret = line;
        return STREAM_OK;
    }
    free(line);
    if (!file) return broker__fail(err, "cannot open '%s': %s", path, strerror(reason));
    return broker__fail(err, "the password file '%s' is empty", path);
}
