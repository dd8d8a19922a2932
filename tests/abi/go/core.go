// Package core plays the core for one driver of the Go SDK, through the exported table, as mqworker does. It is a
// package of its own because Go takes no cgo in test files.
package core

/*
#cgo CFLAGS: -I${SRCDIR}/../../../plugin-api/include
#include "mqcore/driver.h"

#include <stdlib.h>
#include <string.h>

// Defined in the SDK's own object; here only so that this package links alone.
#pragma weak mqcore_driver_entry

enum { kMost = 8, kText = 200 };

typedef struct report {
    int32_t status;
    char text[kText];
} report;

// What the driver told. Go reaches it through a function: it sees no static variable.
typedef struct told {
    int failure_count;
    report failures[kMost];
    char notes[kText], logged[kText];
    uint32_t done_slot, filter, connection;
    int32_t done_status;
    char payload[kText];
    int waits;
} told;

static told all;
static const told* what_it_told(void) { return &all; }

static void fail(const mqcore_host* host, int32_t status, const char* text) {
    (void)host;
    if (all.failure_count == kMost)
        abort();
    all.failures[all.failure_count].status = status;
    strncpy(all.failures[all.failure_count++].text, text, kText - 1);
}

static void note(const mqcore_host* host, const char* key, const char* value) {
    (void)host;
    strncat(all.notes, key, kText / 2 - 1);
    strcat(all.notes, "=");
    strncat(all.notes, value, kText / 2 - 2);
}

static void log_(const mqcore_host* host, int32_t level, const char* text) {
    (void)host;
    all.logged[0] = (char)('0' + level);
    strncpy(all.logged + 1, text, kText - 2);
}

static const void* extension(const mqcore_host* host, const char* id) {
    (void)host;
    (void)id;
    return NULL;
}

static const mqcore_host kHost = {sizeof(mqcore_host), MQCORE_ABI_MAJOR, MQCORE_ABI_MINOR, "test", NULL,
                                  extension, log_, fail, note};

// ---- a run with something in every field ----

static const char* const kTopics[] = {"t/0", "t/1"};
static const char* const kFilters[] = {"t/+"};
static const mqcore_option kOptions[] = {{"loop", "thread"}};
static const mqcore_user_property kUser[] = {{"name", "value"}};
static const mqcore_properties kProperties = {sizeof(mqcore_properties), 1, kUser, "text/plain", "reply",
                                              (const uint8_t*)"\1\0\2", 3, 0};
static const mqcore_properties* const kSets[] = {&kProperties};
static const mqcore_run kRun = {sizeof(mqcore_run), MQCORE_V5, "localhost", "id", "ca.pem", kTopics, kFilters,
                                kOptions, 2, 1, 1, 1, 1883, 60, 16, 64, 2, 5, kSets, 1, 3};
static const mqcore_run kBareRun = {.size = sizeof(mqcore_run), .protocol = MQCORE_V311, .host = "::1",
                                    .client_id = "id", .connection_count = 1};

// ---- a source that answers SEND, WAIT, DRAIN, STOP and a sink that remembers ----

static const mqcore_message kMessage = {(const uint8_t*)"payload", 7, 1, 9, 1, 1, 0, 1, 3, 0};
static int step;

static int32_t next(mqcore_source* source, const mqcore_message** message) {
    source->wake_ns = 1000u + (unsigned)step;
    *message = &kMessage;
    return step++; // MQCORE_SEND is 0, MQCORE_STOP 3
}

static void wait_(mqcore_source* source) {
    (void)source;
    ++all.waits;
}

static void done(mqcore_sink* sink, uint32_t slot, int32_t status) {
    (void)sink;
    all.done_slot = slot;
    all.done_status = status;
}

static void received(mqcore_sink* sink, const void* payload, uint32_t bytes, uint32_t filter,
                     uint32_t connection) {
    (void)sink;
    memcpy(all.payload, payload, bytes);
    all.payload[bytes] = 0;
    all.filter = filter;
    all.connection = connection;
}

// ---- the calls ----

static int32_t create(uintptr_t* self) {
    void* made = &made; // as the core leaves it: anything
    const int32_t status = mqcore_driver_entry(NULL)->create(&kHost, &made);

    *self = (uintptr_t)made;
    return status;
}

static int32_t connect_(uintptr_t self, int is_bare) {
    return mqcore_driver_entry(NULL)->connect((void*)self, is_bare ? &kBareRun : &kRun);
}

static int32_t drive(uintptr_t self) {
    static mqcore_source source = {sizeof(mqcore_source), 0, 0, next, wait_};
    static mqcore_sink sink = {sizeof(mqcore_sink), 0, done, received};

    step = 0;
    return mqcore_driver_entry(NULL)->drive((void*)self, &source, &sink);
}

static int32_t disconnect(uintptr_t self) { return mqcore_driver_entry(NULL)->disconnect((void*)self); }
static void destroy(uintptr_t self) { mqcore_driver_entry(NULL)->destroy((void*)self); }
static void forget(void) { memset(&all, 0, sizeof all); }
*/
import "C"

import "fmt"

// Claims of the driver as the table has them.
func Claims() string {
	table := C.mqcore_driver_entry(nil)
	info := table.info
	return fmt.Sprintf("%#x %d %d.%d %d: %d %s '%s' shape %d protocols %d publish %d subscribe %d features %d window %d qos0 %d",
		table.magic, table.size, table.abi_major, table.abi_minor, table.needs_host_minor, info.size,
		C.GoString(info.id), C.GoString(info.library), info.shape, info.protocols, info.publish_qos,
		info.subscribe_qos, info.features, info.max_window, info.qos0_completion)
}

// Sizes of the driver's table and of its claims, as C says.
func Sizes() (int, int) { return C.sizeof_mqcore_driver, C.sizeof_mqcore_info }

// Driver is an instance: no pointer into Go's memory.
type Driver struct{ self C.uintptr_t }

// Create forgets what was reported before.
func Create() (Driver, int32) {
	C.forget()
	var it Driver
	status := C.create(&it.self)
	return it, int32(status)
}

// IsNull says that no instance was made.
func (it Driver) IsNull() bool { return it.self == 0 }

// Connect with a run that has something in every field, or next to nothing.
func (it Driver) Connect(isBare bool) int32 {
	if isBare {
		return int32(C.connect_(it.self, 1))
	}
	return int32(C.connect_(it.self, 0))
}

// Drive with a source that answers SEND, WAIT, DRAIN and STOP.
func (it Driver) Drive() int32      { return int32(C.drive(it.self)) }
func (it Driver) Disconnect() int32 { return int32(C.disconnect(it.self)) }
func (it Driver) Destroy()          { C.destroy(it.self) }

// Failures that were reported since Create, each as "STATUS TEXT".
func Failures() []string {
	told := C.what_it_told()
	all := []string{}
	for i := range told.failures[:told.failure_count] {
		failure := &told.failures[i]
		all = append(all, fmt.Sprintf("%d %s", failure.status, C.GoString(&failure.text[0])))
	}
	return all
}

// Said is what came through Note and Log.
func Said() (string, string) {
	told := C.what_it_told()
	return C.GoString(&told.notes[0]), C.GoString(&told.logged[0])
}

// Reported is what the sink was told, and how often the source was waited for.
func Reported() string {
	told := C.what_it_told()
	return fmt.Sprintf("done %d status %d, received '%s' filter %d connection %d, waits %d", told.done_slot,
		told.done_status, C.GoString(&told.payload[0]), told.filter, told.connection, told.waits)
}
