/* lab_servers.c - Redis or Valkey servers for an experiment.
 *
 * Each server begins with a file that says what the cluster is: who has which slots, and where they
 * are. Servers wait two seconds before they serve; nothing shortens that. The node timeout is so
 * long that no server is ever taken for failed by the others: what an experiment kills stays where
 * it was, and its slots are nobody else's. Commands go over a socket as lines of text, for there
 * are few.
 *
 * A server that stands apart is given one end of a pair of virtual links before it starts; the
 * other end stays here, and all servers then listen on the addresses of that link. The namespace
 * and the link go when the server does.
 */
#include "lab_servers.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SLOTS = 16384, START_MS = 20000, STEP_MS = 5, REPLY_SIZE = 2048, TRIES = 3 };

typedef struct {
    pid_t pid;
    unsigned port, bus;
    char address[32];
} server;

struct lab_servers {
    size_t count;
    bool apart;
    char folder[64], program[64], module[512];
    char link[16]; /* of those that stand apart, the end here */
    server servers[LAB_SERVERS_MOST];
};

static void nap(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* --- what is needed ----------------------------------------------------------------------- */

static bool have_program(const char *name) {
    char command[128];
    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", name);
    return system(command) == 0;
}

/* Path of the module: $WEIR_MODULE, or the one beside this program, or the installed one. */
static bool find_module(char path[512]) {
    char self[400] = "";
    const char *given = getenv("WEIR_MODULE");
    if (given) {
        snprintf(path, 512, "%s", given);
        return access(path, R_OK) == 0;
    }
    if (readlink("/proc/self/exe", self, sizeof self - 1) > 0) *strrchr(self, '/') = 0;
    static const char *const places[] = {"module/weir.so", "../module/weir.so"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, 512, "%s/%s", self, places[i]);
        if (!access(path, R_OK)) return true;
    }
    snprintf(path, 512, "%s", LAB_MODULE);
    return access(path, R_OK) == 0;
}

static weir_status find_programs(lab_servers *s, lab_unit *unit) {
    static const char *const programs[] = {"redis-server", "valkey-server"};
    for (size_t i = 0; i < 2 && !*s->program; i++)
        if (have_program(programs[i])) snprintf(s->program, sizeof s->program, "%s", programs[i]);
    if (!*s->program)
        return lab_fail(unit, WEIR_ERR_IO, "redis-server is not installed, nor valkey-server");
    if (!find_module(s->module))
        return lab_fail(unit, WEIR_ERR_IO, "there is no module at '%s'; WEIR_MODULE can name it",
                        s->module);
    if (s->apart && (geteuid() != 0 || !have_program("ip") || !have_program("nsenter")))
        return lab_fail(unit, WEIR_ERR_IO,
                        "a network namespace takes root, and the programs ip and nsenter");
    return WEIR_OK;
}

/* --- one command ---------------------------------------------------------------------------- */

static int dial(const server *s) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)s->port)};
    struct timeval patience = {.tv_sec = 5};
    inet_pton(AF_INET, s->address, &at.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (!connect(fd, (struct sockaddr *)&at, sizeof at)) return fd;
    close(fd);
    return -1;
}

/* Read the answer, at least a line of it; false: none came. */
static bool ask(const server *s, const char *line, char reply[REPLY_SIZE]) {
    int fd = dial(s);
    size_t used = 0;
    *reply = 0;
    if (fd < 0) return false;
    bool sent =
        send(fd, line, strlen(line), MSG_NOSIGNAL) > 0 && send(fd, "\r\n", 2, MSG_NOSIGNAL) > 0;
    while (sent && used < REPLY_SIZE - 1) {
        ssize_t got = recv(fd, reply + used, REPLY_SIZE - 1 - used, 0);
        if (got <= 0) break;
        reply[used += (size_t)got] = 0;
        bool whole = *reply != '$' || used >= (size_t)atoi(reply + 1) + strcspn(reply, "\n");
        if (strchr(reply, '\n') && whole) break;
    }
    close(fd);
    return used > 0;
}

static bool says(const server *s, const char *line, const char *what) {
    char reply[REPLY_SIZE];
    return ask(s, line, reply) && strstr(reply, what);
}

static bool says_soon(const server *s, const char *line, const char *what) {
    for (int waited = 0; waited < START_MS; waited += STEP_MS, nap(STEP_MS))
        if (says(s, line, what)) return true;
    return false;
}

/* --- one server ----------------------------------------------------------------------------- */

static bool is_free(unsigned port) {
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_ANY),
                             .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool good = fd >= 0 && !bind(fd, (struct sockaddr *)&at, sizeof at);
    if (fd >= 0) close(fd);
    return good;
}

/* Below those that the system gives to connections, and no two the same in this process. */
static unsigned free_port(void) {
    enum { FIRST = 10000, COUNT = 20000 };
    static atomic_uint last;
    for (;;) {
        unsigned port = FIRST + (atomic_fetch_add(&last, 1) + (unsigned)getpid() * 61) % COUNT;
        if (is_free(port)) return port;
    }
}

/* In the child: wait for the word of the parent if there is one, and become the server. */
static void become(const lab_servers *s, const server *one, const char *folder, int go) {
    char port[12], bus[12], word;
    const char *const words[] = {s->program,   "--port",
                                 port,         "--cluster-port",
                                 bus,          "--bind",
                                 one->address, "--protected-mode",
                                 "no",         "--dir",
                                 folder,       "--save",
                                 "",           "--logfile",
                                 "/dev/null",  "--loadmodule",
                                 s->module,    "--cluster-enabled",
                                 "yes",        "--cluster-config-file",
                                 "nodes.conf", "--cluster-node-timeout",
                                 "600000",     "--cluster-require-full-coverage",
                                 "no",         NULL};
    snprintf(port, sizeof port, "%u", one->port);
    snprintf(bus, sizeof bus, "%u", one->bus);
    if (go >= 0 && unshare(CLONE_NEWNET)) _exit(127);
    if (go >= 0 && read(go, &word, 1) != 1) _exit(127);
    if (!freopen("/dev/null", "r", stdin) || !freopen("/dev/null", "w", stdout) ||
        !freopen("/dev/null", "w", stderr))
        _exit(127);
    execvp(words[0], (char *const *)(uintptr_t)words);
    _exit(127);
}

static void folder_of(const lab_servers *s, size_t i, char folder[96]) {
    snprintf(folder, 96, "%s/%zu", s->folder, i);
}

/* The child has a namespace by now: put one end of the link into it. */
static bool join_link(const lab_servers *s, const server *one) {
    char command[512];
    snprintf(command, sizeof command,
             "{ ip link add %s type veth peer name weir1 netns %d && ip addr add %s/30 dev %s && "
             "ip link set %s up && nsenter -t %d -n ip addr add %s/30 dev weir1 && "
             "nsenter -t %d -n ip link set weir1 up; } >/dev/null 2>&1",
             s->link, (int)one->pid, s->servers[0].address, s->link, s->link, (int)one->pid,
             one->address, (int)one->pid);
    for (int waited = 0; waited < 1000; waited += 50, nap(50))
        if (!system(command)) return true;
    return false;
}

static bool has_own_namespace(pid_t pid) {
    char path[64], here[64] = "", there[64] = "";
    snprintf(path, sizeof path, "/proc/%d/ns/net", (int)pid);
    return readlink("/proc/self/ns/net", here, sizeof here - 1) > 0 &&
           readlink(path, there, sizeof there - 1) > 0 && strcmp(here, there) != 0;
}

static bool place_apart(const lab_servers *s, const server *one, int go) {
    for (int waited = 0; waited < 1000 && !has_own_namespace(one->pid); waited += STEP_MS)
        nap(STEP_MS);
    return has_own_namespace(one->pid) && join_link(s, one) && write(go, "", 1) == 1;
}

static weir_status start(lab_servers *s, lab_unit *unit, size_t i) {
    server *one = &s->servers[i];
    char folder[96];
    int pipe_ends[2] = {-1, -1};
    bool apart = s->apart && i == s->count - 1;
    folder_of(s, i, folder);
    if (apart && pipe(pipe_ends))
        return lab_fail(unit, WEIR_ERR_IO, "no pipe: %s", strerror(errno));
    one->pid = fork();
    if (one->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        become(s, one, folder, pipe_ends[0]);
    }
    bool placed = one->pid > 0 && (!apart || place_apart(s, one, pipe_ends[1]));
    if (apart) close(pipe_ends[0]), close(pipe_ends[1]);
    if (!placed) return lab_fail(unit, WEIR_ERR_IO, "a network namespace cannot be made here");
    if (!says_soon(one, "PING", "PONG"))
        return lab_fail(unit, WEIR_ERR_IO, "%s does not start with the module '%s'", s->program,
                        s->module);
    return WEIR_OK;
}

static void end(server *one) {
    if (one->pid <= 0) return;
    kill(one->pid, SIGKILL);
    waitpid(one->pid, NULL, 0);
    one->pid = 0;
}

/* --- the cluster ----------------------------------------------------------------------------- */

/* Write the configuration of server `own`, unless it has one. */
static bool write_nodes(const lab_servers *s, size_t own) {
    char folder[96], path[128];
    folder_of(s, own, folder);
    mkdir(folder, 0700);
    snprintf(path, sizeof path, "%s/nodes.conf", folder);
    FILE *out = fopen(path, "w");
    if (!out) return false;
    for (size_t i = 0; i < s->count; i++)
        fprintf(out, "%040zx %s:%u@%u %s - 0 0 %zu connected %zu-%zu\n", i + 1,
                s->servers[i].address, s->servers[i].port, s->servers[i].bus,
                i == own ? "myself,master" : "master", i + 1, i * SLOTS / s->count,
                (i + 1) * SLOTS / s->count - 1);
    fprintf(out, "vars currentEpoch %zu lastVoteEpoch 0\n", s->count);
    return fclose(out) == 0;
}

static weir_status wait_for_all(lab_servers *s, lab_unit *unit) {
    bool good = true;
    for (size_t i = 0; i < s->count && good; i++)
        good = says_soon(&s->servers[i], "CLUSTER INFO", "cluster_state:ok");
    return good ? WEIR_OK : lab_fail(unit, WEIR_ERR_IO, "the servers do not become a cluster");
}

static void name_servers(lab_servers *s) {
    for (size_t i = 0; i < s->count; i++) {
        server *one = &s->servers[i];
        bool apart = s->apart && i == s->count - 1;
        if (s->apart) /* a range for tests of networks, RFC 2544 */
            snprintf(one->address, sizeof one->address, "198.18.%d.%d", (int)getpid() % 256,
                     apart ? 2 : 1);
        else snprintf(one->address, sizeof one->address, "127.0.0.1");
        one->port = free_port();
        one->bus = free_port();
    }
    snprintf(s->link, sizeof s->link, "weir%d", (int)getpid() % 1000000);
}

static void stop_all(lab_servers *s);

/* The link must be there before servers can listen on its addresses, so the last one is first. */
static weir_status start_all(lab_servers *s, lab_unit *unit) {
    const char *temporary = getenv("TMPDIR");
    weir_status status = WEIR_OK;
    snprintf(s->folder, sizeof s->folder, "%.40s/weir-lab-XXXXXX", temporary ? temporary : "/tmp");
    if (!mkdtemp(s->folder))
        return lab_fail(unit, WEIR_ERR_IO, "cannot make '%s': %s", s->folder, strerror(errno));
    name_servers(s);
    for (size_t i = 0; i < s->count && !status; i++)
        if (!write_nodes(s, i))
            status = lab_fail(unit, WEIR_ERR_IO, "cannot write '%s'", s->folder);
    for (size_t i = s->count; i-- > 0 && !status;) status = start(s, unit, i);
    if (!status) status = wait_for_all(s, unit);
    if (status) stop_all(s);
    return status;
}

/* A port may be taken between the look at it and its use. */
weir_status lab_servers_start(lab_servers **out, lab_unit *unit, size_t count, bool apart) {
    lab_servers *s = *out = calloc(1, sizeof *s);
    if (!s) return lab_fail(unit, WEIR_ERR_MEMORY, "no memory for servers");
    s->count = count;
    s->apart = apart;
    weir_status status = find_programs(s, unit);
    bool able = !status;
    for (int i = 0; i < TRIES && able; i++) {
        status = start_all(s, unit);
        if (!status) return WEIR_OK;
    }
    free(s);
    *out = NULL;
    return status;
}

static int remove_one(const char *path, const struct stat *what, int kind, struct FTW *at) {
    (void)what, (void)kind, (void)at;
    return remove(path);
}

static void stop_all(lab_servers *s) {
    enum { FOLDERS_OPEN = 8 };
    for (size_t i = 0; i < s->count; i++) end(&s->servers[i]);
    nftw(s->folder, remove_one, FOLDERS_OPEN, FTW_DEPTH | FTW_PHYS);
}

void lab_servers_stop(lab_servers *s) {
    if (!s) return;
    stop_all(s);
    free(s);
}

void lab_servers_url(const lab_servers *s, const char *name, char url[128]) {
    snprintf(url, 128, "redis+cluster://%s:%u/%s", s->servers[0].address, s->servers[0].port, name);
}

size_t lab_servers_find(const lab_servers *s, const char *address) {
    char own[48];
    for (size_t i = 0; i < s->count; i++) {
        snprintf(own, sizeof own, "%s:%u", s->servers[i].address, s->servers[i].port);
        if (!strcmp(own, address)) return i;
    }
    return s->count;
}

/* --- faults ----------------------------------------------------------------------------------- */

void lab_servers_kill(lab_servers *s, size_t i) { end(&s->servers[i]); }

void lab_servers_pause(lab_servers *s, size_t i, bool paused) {
    kill(s->servers[i].pid, paused ? SIGSTOP : SIGCONT);
}

void lab_servers_cut(lab_servers *s, bool cut) {
    char command[128];
    snprintf(command, sizeof command, "nsenter -t %d -n ip link set weir1 %s >/dev/null 2>&1",
             (int)s->servers[s->count - 1].pid, cut ? "down" : "up");
    if (system(command)) return; /* then nothing is cut, and the experiment's claims say so */
}

weir_status lab_servers_save(lab_servers *s, lab_unit *unit, size_t i) {
    return says(&s->servers[i], "SAVE", "OK")
               ? WEIR_OK
               : lab_fail(unit, WEIR_ERR_IO, "a server does not save what it holds");
}

weir_status lab_servers_again(lab_servers *s, lab_unit *unit, size_t i) {
    weir_status status = start(s, unit, i);
    if (status) return status;
    return says_soon(&s->servers[i], "CLUSTER INFO", "cluster_state:ok")
               ? WEIR_OK
               : lab_fail(unit, WEIR_ERR_IO, "a server does not find its cluster again");
}
