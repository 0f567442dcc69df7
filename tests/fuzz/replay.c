/* replay.c - run a fuzz target over files, where libFuzzer is not linked in.
 *
 * So every build replays the corpus as a plain test: one `ok` line per file.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        if (!file) {
            perror(argv[i]);
            return 2;
        }
        fseek(file, 0, SEEK_END);
        long size = ftell(file);
        rewind(file);
        uint8_t *bytes = malloc((size_t)size + 1);
        if (!bytes || fread(bytes, 1, (size_t)size, file) != (size_t)size) return 2;
        fclose(file);
        LLVMFuzzerTestOneInput(bytes, (size_t)size);
        free(bytes);
        printf("ok %s\n", argv[i]);
    }
    return 0;
}
