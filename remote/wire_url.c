/* wire_url.c - addresses of servers.
 *
 * An address is taken apart by hand: it is short, and each mistake has its own message. A
 * password in an address would be read by everybody who can list processes, and end up in
 * histories and logs: it is refused, and the message does not repeat the address.
 */
#include <stdlib.h>
#include <string.h>

#include "wire.h"
#include "wire_error.h"

enum { PORT = 6379, DATABASE_MOST = 65535 };

static const struct {
    const char *text;
    bool tls, cluster, local;
} schemes[] = {
    {"redis://", false, false, false},
    {"rediss://", true, false, false},
    {"redis+cluster://", false, true, false},
    {"rediss+cluster://", true, true, false},
    {"valkey://", false, false, false},
    {"valkeys://", true, false, false},
    {"valkey+cluster://", false, true, false},
    {"valkeys+cluster://", true, true, false},
    {"unix:", false, false, true},
};
enum { SCHEMES = sizeof schemes / sizeof *schemes };

static size_t scheme_of(const char *text) {
    size_t i = 0;
    while (i < SCHEMES && strncmp(text, schemes[i].text, strlen(schemes[i].text)) != 0) i++;
    return i;
}

/* A stretch of the text. */
typedef struct {
    const char *at;
    size_t length;
} piece;

/* Cut the piece at the first of these characters: what is before it; *rest is what is behind it,
 * with the length 0 and no place where there is none. */
static piece cut(piece all, const char *marks, piece *rest) {
    for (size_t i = 0; i < all.length; i++)
        if (strchr(marks, all.at[i])) {
            *rest = (piece){all.at + i + 1, all.length - i - 1};
            return (piece){all.at, i};
        }
    *rest = (piece){NULL, 0};
    return all;
}

static int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* A copy with %XX decoded; no NUL may come out of it. */
static weir_status decode(char **out, piece from, const char *what, weir_error *err) {
    char *to = *out = malloc(from.length + 1);
    if (!to) return wire_no_memory(err);
    for (size_t i = 0; i < from.length; i++) {
        char c = from.at[i];
        if (c == '%') {
            int high = i + 1 < from.length ? hex(from.at[i + 1]) : -1;
            int low = i + 2 < from.length ? hex(from.at[i + 2]) : -1;
            if (high < 0 || low < 0 || high + low == 0) {
                *to = 0;
                return wire_fail(err, WEIR_ERR_SPEC,
                                 "the %s in the address has a '%%' that is not followed by two "
                                 "hexadecimal digits; a percent sign is written %%25",
                                 what);
            }
            c = (char)(high * 16 + low);
            i += 2;
        }
        *to++ = c;
    }
    *to = 0;
    return WEIR_OK;
}

static weir_status number_of(piece digits, uint32_t most, uint32_t *out) {
    uint32_t value = 0;
    if (!digits.length || digits.length > 9) return WEIR_ERR_SPEC;
    for (size_t i = 0; i < digits.length; i++) {
        if (digits.at[i] < '0' || digits.at[i] > '9') return WEIR_ERR_SPEC;
        value = value * 10 + (uint32_t)(digits.at[i] - '0');
    }
    *out = value;
    return value <= most ? WEIR_OK : WEIR_ERR_SPEC;
}

/* HOST, HOST:PORT, [ADDRESS], [ADDRESS]:PORT. */
static weir_status parse_host(wire_url *url, piece text, weir_error *err) {
    piece name, port = {NULL, 0};
    uint32_t number = PORT;
    if (url->host_count == WIRE_HOSTS)
        return wire_fail(err, WEIR_ERR_SPEC,
                         "the address has more than %d servers; a cluster is found through any one "
                         "of them",
                         WIRE_HOSTS);
    if (text.length && text.at[0] == '[') {
        piece behind;
        name = cut((piece){text.at + 1, text.length - 1}, "]", &behind);
        if (!behind.at || (behind.length && behind.at[0] != ':'))
            return wire_fail(err, WEIR_ERR_SPEC, "the address has a '[' without its ']'");
        if (behind.length) port = (piece){behind.at + 1, behind.length - 1};
    } else {
        name = cut(text, ":", &port);
    }
    if (!name.length) return wire_fail(err, WEIR_ERR_SPEC, "the address names no server");
    if (port.at && (number_of(port, 65535, &number) != WEIR_OK || !number))
        return wire_fail(err, WEIR_ERR_SPEC,
                         "the address has the port '%.*s'; a port is a number from 1 to 65535",
                         (int)(port.length < 32 ? port.length : 32), port.at);
    wire_host *host = &url->hosts[url->host_count++];
    host->port = (uint16_t)number;
    return decode(&host->host, name, "server", err);
}

/* [USER@]HOST[,HOST...] */
static weir_status parse_authority(wire_url *url, piece text, weir_error *err) {
    piece hosts = text;
    size_t at = text.length; /* the last @: a password may have one */
    while (at > 0 && text.at[at - 1] != '@') at--;
    if (at > 0) {
        piece password, user = cut((piece){text.at, at - 1}, ":", &password);
        if (password.at)
            return wire_fail(err, WEIR_ERR_SPEC,
                             "the address has a password in it, which everybody can read who lists "
                             "processes; put it into a file for --password-file, or into the "
                             "environment as WEIR_PASSWORD");
        hosts = (piece){text.at + at, text.length - at};
        if (user.length) {
            weir_status status = decode(&url->user, user, "user", err);
            if (status != WEIR_OK) return status;
        }
    }
    if (hosts.length == 0) return wire_fail(err, WEIR_ERR_SPEC, "the address names no server");
    while (hosts.at) {
        piece host = cut(hosts, ",", &hosts);
        weir_status status = parse_host(url, host, err);
        if (status != WEIR_OK) return status;
    }
    if (url->host_count > 1 && !url->cluster)
        return wire_fail(err, WEIR_ERR_SPEC,
                         "the address has %zu servers; several are for a cluster: "
                         "redis+cluster://...",
                         url->host_count);
    return WEIR_OK;
}

/* db=, user= and name= are what they are elsewhere in an address; others are for the caller. */
static weir_status use_parameter(wire_url *url, char *key, char *value, weir_error *err) {
    uint32_t number;
    if (!strcmp(key, "password"))
        return wire_fail(err, WEIR_ERR_SPEC,
                         "the address has a password in it; put it into a file for "
                         "--password-file, or into the environment as WEIR_PASSWORD");
    if (!strcmp(key, "db")) {
        if (number_of((piece){value, strlen(value)}, DATABASE_MOST, &number) != WEIR_OK)
            return wire_fail(err, WEIR_ERR_SPEC,
                             "the address has db=%.32s; a database is a number from 0 to %d", value,
                             DATABASE_MOST);
        if (number && url->cluster)
            return wire_fail(err, WEIR_ERR_SPEC, "the address has db=%u; a cluster has only db=0",
                             number);
        url->db = number;
    }
    char **taken = !strcmp(key, "user") ? &url->user : !strcmp(key, "name") ? &url->name : NULL;
    if (!taken) return WEIR_OK;
    if (*taken) return wire_fail(err, WEIR_ERR_SPEC, "the address gives its %s twice", key);
    *taken = strdup(value);
    return *taken ? WEIR_OK : wire_no_memory(err);
}

static weir_status parse_parameters(wire_url *url, piece text, weir_error *err) {
    while (text.at) {
        piece value, key = cut(cut(text, "&", &text), "=", &value);
        if (!key.length && !value.at && !text.at) return WEIR_OK;
        if (!key.length || !value.at)
            return wire_fail(err, WEIR_ERR_SPEC,
                             "the address has '%.*s' behind its '?'; KEY=VALUE is expected there",
                             (int)(key.length < 64 ? key.length : 64), key.at);
        if (url->parameter_count == WIRE_PARAMETERS)
            return wire_fail(err, WEIR_ERR_SPEC, "the address has too many parameters");
        size_t i = url->parameter_count++;
        weir_status status = decode(&url->parameters[i].key, key, "parameter", err);
        if (status == WEIR_OK) status = decode(&url->parameters[i].value, value, "parameter", err);
        if (status == WEIR_OK)
            status = use_parameter(url, url->parameters[i].key, url->parameters[i].value, err);
        if (status != WEIR_OK) return status;
    }
    return WEIR_OK;
}

weir_status wire_url_parse(wire_url *url, const char *text, weir_error *err) {
    size_t scheme = scheme_of(text);
    weir_status status;
    piece parameters, name = {NULL, 0};
    *url = (wire_url){0};
    if (scheme == SCHEMES)
        return wire_fail(err, WEIR_ERR_SPEC,
                         "the address does not begin with redis://, rediss://, redis+cluster://, "
                         "rediss+cluster:// or unix:");
    url->tls = schemes[scheme].tls;
    url->cluster = schemes[scheme].cluster;
    url->local = schemes[scheme].local;
    text += strlen(schemes[scheme].text);
    piece place = cut((piece){text, strlen(text)}, "?", &parameters);
    if (url->local) {
        if (place.length > 2 && !strncmp(place.at, "//", 2)) place.at += 2, place.length -= 2;
        if (!place.length)
            return wire_fail(err, WEIR_ERR_SPEC, "the address names no socket: unix:/PATH/OF/IT");
        url->host_count = 1;
        status = decode(&url->hosts[0].host, place, "socket", err);
    } else {
        place = cut(place, "/", &name);
        status = parse_authority(url, place, err);
        if (status == WEIR_OK && name.length) status = decode(&url->name, name, "name", err);
    }
    return status == WEIR_OK ? parse_parameters(url, parameters, err) : status;
}

void wire_url_release(wire_url *url) {
    for (size_t i = 0; i < url->host_count; i++) free(url->hosts[i].host);
    for (size_t i = 0; i < url->parameter_count; i++) {
        free(url->parameters[i].key);
        free(url->parameters[i].value);
    }
    free(url->user);
    free(url->name);
    *url = (wire_url){0};
}
