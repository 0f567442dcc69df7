/* wire_tls.h - TLS over a socket that does not block; a build without OpenSSL refuses it. */
#ifndef WEIR_WIRE_TLS_H
#define WEIR_WIRE_TLS_H

#include "wire.h"

typedef struct wire_tls wire_tls;               /* certificates and settings, shared */
typedef struct wire_tls_stream wire_tls_stream; /* one connection */

/* Results of a step of input or output, besides a number of bytes above 0. */
enum { WIRE_IO_END = 0, WIRE_IO_FAILED = -1, WIRE_IO_WANT_READ = -2, WIRE_IO_WANT_WRITE = -3 };

weir_status wire_tls_new(wire_tls **out, const wire_options *options, weir_error *err);
void wire_tls_free(wire_tls *tls);

/* Over a connected socket; host is who the certificate must be for. NULL: out of memory. */
wire_tls_stream *wire_tls_open(wire_tls *tls, int fd, const char *host);
void wire_tls_close(wire_tls_stream *s);

/* 1 when it is done, or one of the above; then why[] says what failed. */
int wire_tls_shake(wire_tls_stream *s, char *why, size_t size);
int64_t wire_tls_read(wire_tls_stream *s, void *bytes, size_t length);
int64_t wire_tls_write(wire_tls_stream *s, const void *bytes, size_t length);

#endif
