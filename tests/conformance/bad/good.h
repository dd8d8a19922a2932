/* A driver that keeps the contract, for MQTT 3.1.1 with QoS 0 and 1: a plain socket and one thread.
 * The drivers of this shelf are this one with one rule broken. It serves runs of a few seconds: it
 * sends no PINGREQ. */
#ifndef GOOD_H
#define GOOD_H

#include "mqcore/driver.h"

typedef struct good {
    const mqcore_host* host;
    const mqcore_run* run;
    mqcore_sink* sink;
    enum {
        kNothing,
        kOpened,
        kAccepted
    } reached;  /* by connect()                                  */
    int socket; /* -1: none                                                                        */
    uint8_t* buffer;
    size_t
        capacity;  /* of buffer                                                                  */
    size_t filled; /* bytes of buffer that wait to be read as packets                            */
} good;

int32_t good_create(const mqcore_host* host, void** self);
int32_t good_connect(void* self, const mqcore_run* run);
int32_t good_drive(void* self, mqcore_source* source, mqcore_sink* sink);
int32_t good_disconnect(void* self);
void good_destroy(void* self);

/* Claims as in driver.toml.in. DRIVER_ID comes from the build. */
#define GOOD_INFO()                                                                                \
    {                                                                                              \
        .size = sizeof(mqcore_info), .shape = MQCORE_SHAPE_SYNC, .id = DRIVER_ID,                  \
        .library = "a plain socket", .protocols = MQCORE_V311,                                     \
        .publish_qos = MQCORE_QOS0 | MQCORE_QOS1, .subscribe_qos = MQCORE_QOS0 | MQCORE_QOS1,      \
        .features = 0, .max_window = 0, .qos0_completion = MQCORE_QOS0_WRITTEN                     \
    }

/* A whole driver of five functions, most of them the good ones. */
#define DRIVER(create_, connect_, drive_, disconnect_, destroy_)                                   \
    static const mqcore_info kInfo = GOOD_INFO();                                                  \
    static const mqcore_driver kDriver = {.magic = MQCORE_MAGIC,                                   \
                                          .size = sizeof(mqcore_driver),                           \
                                          .abi_major = MQCORE_ABI_MAJOR,                           \
                                          .abi_minor = MQCORE_ABI_MINOR,                           \
                                          .info = &kInfo,                                          \
                                          .create = create_,                                       \
                                          .connect = connect_,                                     \
                                          .drive = drive_,                                         \
                                          .disconnect = disconnect_,                               \
                                          .destroy = destroy_};                                    \
    const mqcore_driver* mqcore_driver_entry(const char* driver_folder) {                          \
        (void)driver_folder;                                                                       \
        return &kDriver;                                                                           \
    }

#endif
