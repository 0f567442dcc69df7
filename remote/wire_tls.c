/* wire_tls.c - TLS over a socket that does not block; a build without OpenSSL refuses it.
 *
 * TLS 1.2 and up. The server's certificate must be signed by somebody we trust and be made out
 * to the name or address that we connect to: there is no option to do without.
 */
#include "wire_tls.h"

#include "wire_error.h"

#ifdef HAVE_OPENSSL

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct wire_tls {
    SSL_CTX *context;
};

struct wire_tls_stream {
    SSL *ssl;
};

/* The reason of the first error in OpenSSL's queue, which is empty then. One of the system's, such
 * as a file that is not there, has a number for its reason. */
static const char *reason(void) {
    unsigned long code = ERR_peek_error();
    const char *text =
        ERR_SYSTEM_ERROR(code) ? strerror(ERR_GET_REASON(code)) : ERR_reason_error_string(code);
    ERR_clear_error();
    return text ? text : "no reason given";
}

static weir_status load(wire_tls *tls, const wire_options *o, weir_error *err) {
    SSL_CTX *c = tls->context;
    if (!SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION))
        return wire_fail(err, WEIR_ERR_IO, "cannot set up TLS: %s", reason());
    if (o->ca_file ? !SSL_CTX_load_verify_locations(c, o->ca_file, NULL)
                   : !SSL_CTX_set_default_verify_paths(c))
        return wire_fail(err, WEIR_ERR_IO, "cannot read the certificates in '%s': %s",
                         o->ca_file ? o->ca_file : "the system's list", reason());
    SSL_CTX_set_verify(c, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_mode(c, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (!o->cert_file != !o->key_file)
        return wire_fail(err, WEIR_ERR_SPEC, "--cert-file and --key-file go together");
    if (!o->cert_file) return WEIR_OK;
    if (SSL_CTX_use_certificate_chain_file(c, o->cert_file) != 1)
        return wire_fail(err, WEIR_ERR_IO, "cannot read the certificate '%s': %s", o->cert_file,
                         reason());
    if (SSL_CTX_use_PrivateKey_file(c, o->key_file, SSL_FILETYPE_PEM) != 1)
        return wire_fail(err, WEIR_ERR_IO, "cannot read the key '%s' of the certificate '%s': %s",
                         o->key_file, o->cert_file, reason());
    return WEIR_OK;
}

weir_status wire_tls_new(wire_tls **out, const wire_options *options, weir_error *err) {
    wire_tls *tls = *out = calloc(1, sizeof *tls);
    if (!tls || !(tls->context = SSL_CTX_new(TLS_client_method()))) {
        wire_tls_free(tls);
        *out = NULL;
        return wire_no_memory(err);
    }
    weir_status status = load(tls, options, err);
    if (status != WEIR_OK) {
        wire_tls_free(tls);
        *out = NULL;
    }
    return status;
}

void wire_tls_free(wire_tls *tls) {
    if (tls) SSL_CTX_free(tls->context);
    free(tls);
}

/* Whom the certificate must name. Names, not addresses, are also sent to the server. */
static bool expect(SSL *ssl, const char *host) {
    unsigned char address[16];
    if (inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

wire_tls_stream *wire_tls_open(wire_tls *tls, int fd, const char *host) {
    wire_tls_stream *s = calloc(1, sizeof *s);
    if (s && (s->ssl = SSL_new(tls->context)) && SSL_set_fd(s->ssl, fd) == 1 &&
        expect(s->ssl, host)) {
        SSL_set_connect_state(s->ssl);
        return s;
    }
    wire_tls_close(s);
    return NULL;
}

void wire_tls_close(wire_tls_stream *s) {
    if (s) SSL_free(s->ssl);
    free(s);
}

static int came_to(wire_tls_stream *s, int result) {
    switch (SSL_get_error(s->ssl, result)) {
    case SSL_ERROR_WANT_READ:
        return WIRE_IO_WANT_READ;
    case SSL_ERROR_WANT_WRITE:
        return WIRE_IO_WANT_WRITE;
    case SSL_ERROR_ZERO_RETURN:
        return WIRE_IO_END;
    default:
        return WIRE_IO_FAILED;
    }
}

int wire_tls_shake(wire_tls_stream *s, char *why, size_t size) {
    ERR_clear_error();
    int result = SSL_do_handshake(s->ssl);
    if (result == 1) return 1;
    int came = came_to(s, result);
    if (came != WIRE_IO_FAILED) return came;
    long verified = SSL_get_verify_result(s->ssl);
    if (verified != X509_V_OK)
        snprintf(
            why, size,
            "its certificate is not accepted (%s); --ca-file FILE (of a stream ca= in its URL) "
            "says who signed it",
            X509_verify_cert_error_string(verified));
    else if (ERR_peek_error()) snprintf(why, size, "%s; does it speak TLS on this port?", reason());
    else why[0] = 0; /* the connection was cut */
    return came;
}

int64_t wire_tls_read(wire_tls_stream *s, void *bytes, size_t length) {
    size_t done;
    ERR_clear_error();
    int result = SSL_read_ex(s->ssl, bytes, length, &done);
    return result == 1 ? (int64_t)done : came_to(s, result);
}

int64_t wire_tls_write(wire_tls_stream *s, const void *bytes, size_t length) {
    size_t done;
    ERR_clear_error();
    int result = SSL_write_ex(s->ssl, bytes, length, &done);
    return result == 1 ? (int64_t)done : came_to(s, result);
}

#else

weir_status wire_tls_new(wire_tls **out, const wire_options *options, weir_error *err) {
    (void)options;
    *out = NULL;
    return wire_fail(err, WEIR_ERR_UNSUPPORTED,
                     "this weir was built without TLS; build it where libssl-dev is installed");
}

/* None of these is reached without a wire_tls. */
void wire_tls_free(wire_tls *tls) { (void)tls; }
wire_tls_stream *wire_tls_open(wire_tls *tls, int fd, const char *host) {
    (void)tls, (void)fd, (void)host;
    return NULL;
}
void wire_tls_close(wire_tls_stream *s) { (void)s; }
int wire_tls_shake(wire_tls_stream *s, char *why, size_t size) {
    (void)s, (void)why, (void)size;
    return WIRE_IO_FAILED;
}
int64_t wire_tls_read(wire_tls_stream *s, void *bytes, size_t length) {
    (void)s, (void)bytes, (void)length;
    return WIRE_IO_FAILED;
}
int64_t wire_tls_write(wire_tls_stream *s, const void *bytes, size_t length) {
    (void)s, (void)bytes, (void)length;
    return WIRE_IO_FAILED;
}

#endif
