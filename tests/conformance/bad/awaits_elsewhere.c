/* Says that its shape is 'awaited', and completes on a thread of its library. */
#include <pthread.h>

#include "between.h"

typedef struct completion {
    uint32_t slot;
    int32_t status;
} completion;

static void* complete(void* context) {
    const completion* it = context;

    pass_done(NULL, it->slot, it->status);
    return NULL;
}

static void done_elsewhere(mqcore_sink* sink, uint32_t slot, int32_t status) {
    completion it = {slot, status};
    pthread_t thread;

    (void)sink;
    if (pthread_create(&thread, NULL, complete, &it) == 0)
        pthread_join(thread, NULL);
}

static int32_t drive(void* self, mqcore_source* source, mqcore_sink* sink) {
    stand_between(source, sink);
    my_sink.done = done_elsewhere;
    return good_drive(self, &my_source, &my_sink);
}

static const mqcore_info kInfo = {.size = sizeof(mqcore_info),
                                  .shape = MQCORE_SHAPE_AWAITED,
                                  .id = DRIVER_ID,
                                  .library = "a plain socket",
                                  .protocols = MQCORE_V311,
                                  .publish_qos = MQCORE_QOS0 | MQCORE_QOS1,
                                  .subscribe_qos = MQCORE_QOS0 | MQCORE_QOS1,
                                  .qos0_completion = MQCORE_QOS0_WRITTEN};
static const mqcore_driver kDriver = {.magic = MQCORE_MAGIC,
                                      .size = sizeof(mqcore_driver),
                                      .abi_major = MQCORE_ABI_MAJOR,
                                      .abi_minor = MQCORE_ABI_MINOR,
                                      .info = &kInfo,
                                      .create = good_create,
                                      .connect = good_connect,
                                      .drive = drive,
                                      .disconnect = good_disconnect,
                                      .destroy = good_destroy};

const mqcore_driver* mqcore_driver_entry(const char* driver_folder) {
    (void)driver_folder;
    return &kDriver;
}
