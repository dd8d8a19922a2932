/* The good driver, built against one version of driver.h: a released one, today's, or a simulated next
 * minor whose structs each have one more member (CORNER_NEXT). Its table and its info end where a
 * readable page ends, so that a core which reads beyond what they say they hold ends with a signal. */
#define _DEFAULT_SOURCE

#include "good.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef CORNER_NEXT
/* What only the next version has: MQCORE_HAS says whether the other side has it as well. */
#define HAS_LATER(p, type) MQCORE_HAS(p, type, later)
static int32_t later(void* self) {
    (void)self;
    return 17;
}
#else
#define HAS_LATER(p, type) 0
#endif

static const mqcore_host* core;

static void say(const char* key, int is_there) {
    core->note(core, key, is_there ? "present" : "absent");
}

static int32_t create(const mqcore_host* host, void** self) {
    core = host;
    say("later of host", HAS_LATER(host, mqcore_host));
    return good_create(host, self);
}

static int32_t connect_all(void* self, const mqcore_run* run) {
    say("later of run", HAS_LATER(run, mqcore_run));
    return good_connect(self, run);
}

static int32_t drive(void* self, mqcore_source* source, mqcore_sink* sink) {
    say("later of source", HAS_LATER(source, mqcore_source));
    say("later of sink", HAS_LATER(sink, mqcore_sink));
    return good_drive(self, source, sink);
}

static const mqcore_info kInfo = {
    .size = sizeof(mqcore_info),
    .shape = MQCORE_SHAPE_SYNC,
    .id = DRIVER_ID,
    .library = "a plain socket",
    .protocols = MQCORE_V311,
    .publish_qos = MQCORE_QOS0 | MQCORE_QOS1,
    .subscribe_qos = MQCORE_QOS0 | MQCORE_QOS1,
    .max_window = 0,
    .qos0_completion = MQCORE_QOS0_WRITTEN,
#ifdef CORNER_NEXT
    .features = 1u << 31, /* "a-later-feature" of its driver.toml */
    .later = 23,
#endif
};

static const mqcore_driver kDriver = {
    .magic = MQCORE_MAGIC,
    .size = sizeof(mqcore_driver),
    .abi_major = MQCORE_ABI_MAJOR,
    .abi_minor = MQCORE_ABI_MINOR,
    .needs_host_minor = 0,
    .create = create,
    .connect = connect_all,
    .drive = drive,
    .disconnect = good_disconnect,
    .destroy = good_destroy,
#ifdef CORNER_NEXT
    .later = later,
#endif
};

/* A copy whose last byte is the last that may be read. Null: the system has no memory. */
static void* before_a_guard_page(const void* bytes, size_t count) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char* pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE) != 0)
        return NULL;
    return memcpy(pages + page - count, bytes, count);
}

const mqcore_driver* mqcore_driver_entry(const char* driver_folder) {
    static mqcore_driver* table;

    (void)driver_folder;
    if (!table) {
        table = before_a_guard_page(&kDriver, sizeof kDriver);
        if (table)
            table->info = before_a_guard_page(&kInfo, sizeof kInfo);
    }
    return table;
}
