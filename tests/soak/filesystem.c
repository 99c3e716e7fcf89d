/* Preloaded into a process: notes what it does to the files below SOAK_ROOT, or makes it fail there.

   SOAK_LOG names a file to which every write, sync and change of a name is added, in the one order of all processes,
   and what is written to pipes between (disk.py reads it). SOAK_FAULTS names a file of one `struct faults`, which is
   shared: what is put there holds at once (faults.py writes it). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WRITE = 1, TRUNCATE, SYNC, SYNC_FOLDER, CREATE, UNLINK, RENAME, MKDIR, PIPE, READ, OPEN, LINK };
enum { FAIL, STOP, KILL };

struct record { uint32_t op; int32_t pid; uint32_t path_size, data_size; int64_t offset; };
struct faults { int32_t calls, action, error, skip, times, hits; char match[104]; };

static const char *root;
static size_t root_size;
static int log_fd = -1;
static volatile struct faults *faults;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void prepare(void) {
    const char *log = getenv("SOAK_LOG"), *file = getenv("SOAK_FAULTS");
    root = getenv("SOAK_ROOT");
    root_size = root ? strlen(root) : 0;
    if (log) {
        int fd = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        log_fd = fcntl(fd, F_DUPFD_CLOEXEC, 500);
        syscall(SYS_close, fd);
    }
    if (file) {
        int fd = syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC, 0);
        void *held = mmap(NULL, sizeof(struct faults), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        faults = held == MAP_FAILED ? NULL : held;
        syscall(SYS_close, fd);
    }
}

static int is_below(const char *path) {
    return root && strncmp(path, root, root_size) == 0 && (path[root_size] == '/' || path[root_size] == 0);
}

/* The index of the write-ahead log is made anew after a crash: what is in it is nobody's concern. */
static int is_ours(const char *path) {
    size_t size = strlen(path);
    return is_below(path) && !(size > 4 && strcmp(path + size - 4, "-shm") == 0);
}

static const char *path_of(int fd, char *path) {
    char link[40];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, PATH_MAX - 1);
    path[size > 0 ? size : 0] = 0;
    return path;
}

static const char *whole(const char *path, char *buffer) {
    if (path[0] == '/' || !getcwd(buffer, PATH_MAX)) return path;
    size_t size = strlen(buffer);
    snprintf(buffer + size, PATH_MAX - size, "/%s", path);
    return buffer;
}

/* The order of all processes: one at a time does something and notes it. */
static void begin(void) {
    pthread_mutex_lock(&mutex);
    if (log_fd >= 0) while (flock(log_fd, LOCK_EX) != 0) {}
}

static void end(void) {
    int error = errno;
    if (log_fd >= 0) flock(log_fd, LOCK_UN);
    pthread_mutex_unlock(&mutex);
    errno = error;
}

static void note(uint32_t op, const char *path, int64_t offset, const void *data, size_t size) {
    if (log_fd < 0) return;
    struct record head = {op, getpid(), strlen(path), size, offset};
    size_t whole_size = sizeof head + head.path_size + size;
    char *made = malloc(whole_size);
    memcpy(made, &head, sizeof head);
    memcpy(made + sizeof head, path, head.path_size);
    if (size) memcpy(made + sizeof head + head.path_size, data, size);
    for (size_t done = 0; done < whole_size;) {
        ssize_t now = syscall(SYS_write, log_fd, made + done, whole_size - done);
        if (now < 0) abort();
        done += now;
    }
    free(made);
}

/* Whether a call is to fail; it has stopped or killed the process where that was wanted. */
static int fails(int call, const char *path) {
    if (!faults || !(faults->calls & (1 << call)) || !is_below(path)) return 0;
    if (faults->match[0] && !strstr(path, (const char *)faults->match)) return 0;
    if (__atomic_fetch_sub(&faults->skip, 1, __ATOMIC_SEQ_CST) > 0) return 0;
    if (__atomic_fetch_sub(&faults->times, 1, __ATOMIC_SEQ_CST) <= 0) return 0;
    __atomic_fetch_add(&faults->hits, 1, __ATOMIC_SEQ_CST);
    if (faults->action == STOP) raise(SIGSTOP);
    if (faults->action == KILL) raise(SIGKILL);
    errno = faults->error;
    return faults->action == FAIL;
}

static ssize_t do_write(int fd, const void *data, size_t size, int64_t offset) {
    char path[PATH_MAX];
    path_of(fd, path);
    int pipe = log_fd >= 0 && strncmp(path, "pipe:[", 6) == 0;
    if (fails(WRITE, path)) return -1;
    int64_t at = offset;
    begin();
    if (offset < 0 && !pipe) {
        struct stat there;
        int appends = (fcntl(fd, F_GETFL) & O_APPEND) && fstat(fd, &there) == 0;
        at = appends ? there.st_size : lseek(fd, 0, SEEK_CUR);
    }
    ssize_t done = offset < 0 ? syscall(SYS_write, fd, data, size) : syscall(SYS_pwrite64, fd, data, size, offset);
    if (done > 0 && pipe) note(PIPE, path, 0, data, done);
    else if (done > 0 && is_ours(path)) note(WRITE, path, at, data, done);
    end();
    return done;
}

ssize_t write(int fd, const void *data, size_t size) { return do_write(fd, data, size, -1); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { return do_write(fd, data, size, at); }
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) { return do_write(fd, data, size, at); }

static ssize_t do_read(int fd, void *data, size_t size, int64_t offset) {
    char path[PATH_MAX];
    if (faults && fails(READ, path_of(fd, path))) return -1;
    return offset < 0 ? syscall(SYS_read, fd, data, size) : syscall(SYS_pread64, fd, data, size, offset);
}

ssize_t read(int fd, void *data, size_t size) { return do_read(fd, data, size, -1); }
ssize_t pread(int fd, void *data, size_t size, off_t at) { return do_read(fd, data, size, at); }
ssize_t pread64(int fd, void *data, size_t size, off64_t at) { return do_read(fd, data, size, at); }

int ftruncate64(int fd, off64_t size) {
    char path[PATH_MAX];
    if (fails(TRUNCATE, path_of(fd, path))) return -1;
    begin();
    int done = syscall(SYS_ftruncate, fd, size);
    if (done == 0 && is_ours(path)) note(TRUNCATE, path, size, NULL, 0);
    end();
    return done;
}
int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

static int do_sync(int call, int fd) {
    char path[PATH_MAX];
    struct stat there;
    if (fails(SYNC, path_of(fd, path))) return -1;
    begin();
    int done = syscall(call, fd);
    if (done == 0 && is_ours(path) && fstat(fd, &there) == 0)
        note(S_ISDIR(there.st_mode) ? SYNC_FOLDER : SYNC, path, 0, NULL, 0);
    end();
    return done;
}
int fsync(int fd) { return do_sync(SYS_fsync, fd); }
int fdatasync(int fd) { return do_sync(SYS_fdatasync, fd); }

static int do_open(int folder, const char *name, int flags, mode_t mode) {
    char buffer[PATH_MAX];
    const char *path = whole(name, buffer);
    int ours = (folder == AT_FDCWD || name[0] == '/') && is_ours(path);
    if (folder == AT_FDCWD && (flags & (O_WRONLY | O_RDWR)) && fails(OPEN, path)) return -1;
    if (!ours || !(flags & (O_CREAT | O_TRUNC))) return syscall(SYS_openat, folder, name, flags, mode);
    begin();
    int was_there = syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
    int fd = syscall(SYS_openat, folder, name, flags, mode);
    if (fd >= 0 && !was_there) note(CREATE, path, 0, NULL, 0);
    else if (fd >= 0 && (flags & O_TRUNC)) note(TRUNCATE, path, 0, NULL, 0);
    end();
    return fd;
}

#define MODE(flags) ({ mode_t mode = 0; if ((flags) & O_CREAT) { \
    va_list more; va_start(more, flags); mode = va_arg(more, mode_t); va_end(more); } mode; })
int open(const char *name, int flags, ...) { return do_open(AT_FDCWD, name, flags, MODE(flags)); }
int open64(const char *name, int flags, ...) { return do_open(AT_FDCWD, name, flags, MODE(flags)); }
int openat(int folder, const char *name, int flags, ...) { return do_open(folder, name, flags, MODE(flags)); }
int openat64(int folder, const char *name, int flags, ...) { return do_open(folder, name, flags, MODE(flags)); }

int unlink(const char *name) {
    char buffer[PATH_MAX];
    const char *path = whole(name, buffer);
    if (fails(UNLINK, path)) return -1;
    begin();
    int done = syscall(SYS_unlinkat, AT_FDCWD, name, 0);
    if (done == 0 && is_ours(path)) note(UNLINK, path, 0, NULL, 0);
    end();
    return done;
}

int rename(const char *from, const char *to) {
    char one[PATH_MAX], two[PATH_MAX];
    const char *old = whole(from, one), *new = whole(to, two);
    if (fails(RENAME, old)) return -1;
    begin();
    int done = syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    if (done == 0 && is_ours(new)) note(RENAME, old, 0, new, strlen(new));
    end();
    return done;
}

int link(const char *from, const char *to) {
    char one[PATH_MAX], two[PATH_MAX];
    const char *old = whole(from, one), *new = whole(to, two);
    if (fails(LINK, old)) return -1;
    begin();
    int done = syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
    if (done == 0 && is_ours(new)) note(LINK, old, 0, new, strlen(new));
    end();
    return done;
}
int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    if (from_folder == AT_FDCWD && to_folder == AT_FDCWD) return link(from, to);
    return syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
}

int mkdir(const char *name, mode_t mode) {
    char buffer[PATH_MAX];
    const char *path = whole(name, buffer);
    if (fails(MKDIR, path)) return -1;
    begin();
    int done = syscall(SYS_mkdirat, AT_FDCWD, name, mode);
    if (done == 0 && is_ours(path)) note(MKDIR, path, 0, NULL, 0);
    end();
    return done;
}
