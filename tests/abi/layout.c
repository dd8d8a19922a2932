/* Prints every struct of driver.h with size and offsets, or compares that with a file. It also refuses
 * a struct with a hole, so that a field that is missing in this list, or hidden padding, is noticed.
 *
 *   abi-layout                    print; how layout.txt was made
 *   abi-layout LAYOUT             compare: 0 equal, 1 different
 */
#include "mqcore/driver.h"

#include <stdio.h>
#include <string.h>

typedef struct field {
    const char*
        type; /* null: the next struct begins                                              */
    const char* name;
    size_t offset;
    size_t bytes;
} field;

#define BEGIN(type)                                                                                \
    { NULL, #type, 0, sizeof(type) }
#define FIELD(type, name)                                                                          \
    { #type, #name, offsetof(type, name), sizeof(((type*)NULL)->name) }

static const field kFields[] = {
    BEGIN(mqcore_info),
    FIELD(mqcore_info, size),
    FIELD(mqcore_info, shape),
    FIELD(mqcore_info, id),
    FIELD(mqcore_info, library),
    FIELD(mqcore_info, protocols),
    FIELD(mqcore_info, publish_qos),
    FIELD(mqcore_info, subscribe_qos),
    FIELD(mqcore_info, features),
    FIELD(mqcore_info, max_window),
    FIELD(mqcore_info, qos0_completion),

    BEGIN(mqcore_option),
    FIELD(mqcore_option, key),
    FIELD(mqcore_option, value),

    BEGIN(mqcore_user_property),
    FIELD(mqcore_user_property, name),
    FIELD(mqcore_user_property, value),

    BEGIN(mqcore_properties),
    FIELD(mqcore_properties, size),
    FIELD(mqcore_properties, user_count),
    FIELD(mqcore_properties, user),
    FIELD(mqcore_properties, content_type),
    FIELD(mqcore_properties, response_topic),
    FIELD(mqcore_properties, correlation_data),
    FIELD(mqcore_properties, correlation_data_bytes),
    FIELD(mqcore_properties, reserved),

    BEGIN(mqcore_run),
    FIELD(mqcore_run, size),
    FIELD(mqcore_run, protocol),
    FIELD(mqcore_run, host),
    FIELD(mqcore_run, client_id),
    FIELD(mqcore_run, ca_file),
    FIELD(mqcore_run, topics),
    FIELD(mqcore_run, filters),
    FIELD(mqcore_run, options),
    FIELD(mqcore_run, topic_count),
    FIELD(mqcore_run, filter_count),
    FIELD(mqcore_run, option_count),
    FIELD(mqcore_run, filter_qos),
    FIELD(mqcore_run, port),
    FIELD(mqcore_run, keepalive_s),
    FIELD(mqcore_run, window),
    FIELD(mqcore_run, payload_bytes_max),
    FIELD(mqcore_run, connection_count),
    FIELD(mqcore_run, receive_maximum),
    FIELD(mqcore_run, properties),
    FIELD(mqcore_run, properties_count),
    FIELD(mqcore_run, topic_alias_max),

    BEGIN(mqcore_message),
    FIELD(mqcore_message, payload),
    FIELD(mqcore_message, payload_bytes),
    FIELD(mqcore_message, topic),
    FIELD(mqcore_message, slot),
    FIELD(mqcore_message, qos),
    FIELD(mqcore_message, retain),
    FIELD(mqcore_message, properties),
    FIELD(mqcore_message, connection),
    FIELD(mqcore_message, topic_alias),
    FIELD(mqcore_message, reserved),

    BEGIN(mqcore_source),
    FIELD(mqcore_source, size),
    FIELD(mqcore_source, reserved),
    FIELD(mqcore_source, wake_ns),
    FIELD(mqcore_source, next),
    FIELD(mqcore_source, wait),

    BEGIN(mqcore_sink),
    FIELD(mqcore_sink, size),
    FIELD(mqcore_sink, reserved),
    FIELD(mqcore_sink, done),
    FIELD(mqcore_sink, received),

    BEGIN(mqcore_host),
    FIELD(mqcore_host, size),
    FIELD(mqcore_host, abi_major),
    FIELD(mqcore_host, abi_minor),
    FIELD(mqcore_host, version),
    FIELD(mqcore_host, environment),
    FIELD(mqcore_host, extension),
    FIELD(mqcore_host, log),
    FIELD(mqcore_host, fail),
    FIELD(mqcore_host, note),

    BEGIN(mqcore_driver),
    FIELD(mqcore_driver, magic),
    FIELD(mqcore_driver, size),
    FIELD(mqcore_driver, abi_major),
    FIELD(mqcore_driver, abi_minor),
    FIELD(mqcore_driver, needs_host_minor),
    FIELD(mqcore_driver, reserved),
    FIELD(mqcore_driver, info),
    FIELD(mqcore_driver, create),
    FIELD(mqcore_driver, connect),
    FIELD(mqcore_driver, drive),
    FIELD(mqcore_driver, disconnect),
    FIELD(mqcore_driver, destroy),
    FIELD(mqcore_driver, extension),
};

static const size_t kCount = sizeof kFields / sizeof *kFields;

static void describe(const field* it, char* line, size_t bytes) {
    if (it->type)
        snprintf(line, bytes, "    %3zu %2zu %s", it->offset, it->bytes, it->name);
    else
        snprintf(line, bytes, "%s %zu", it->name, it->bytes);
}

/* The number of structs whose listed fields do not fill them exactly. */
static int holes(void) {
    int found = 0;
    size_t end = 0;
    size_t size = 0;
    const char* name = NULL;

    for (size_t i = 0; i <= kCount; ++i) {
        if (i == kCount || !kFields[i].type) {
            if (name && end != size) {
                fprintf(stderr, "%s: %zu bytes, its fields end at %zu\n", name, size, end);
                ++found;
            }
            if (i == kCount)
                break;
            name = kFields[i].name;
            size = kFields[i].bytes;
            end = 0;
            continue;
        }
        if (kFields[i].offset != end) {
            fprintf(stderr, "%s.%s: at %zu, the field before it ends at %zu\n", kFields[i].type,
                    kFields[i].name, kFields[i].offset, end);
            ++found;
        }
        end = kFields[i].offset + kFields[i].bytes;
    }
    return found;
}

static int compare(const char* path) {
    FILE* file = fopen(path, "r");
    char expected[128];
    char line[128];
    int differences = 0;

    if (!file) {
        perror(path);
        return 1;
    }
    for (size_t i = 0; i < kCount; ++i) {
        describe(&kFields[i], line, sizeof line);
        if (!fgets(expected, sizeof expected, file))
            expected[0] = '\0';
        expected[strcspn(expected, "\n")] = '\0';
        if (strcmp(line, expected) != 0) {
            fprintf(stderr, "expected '%s', found '%s'\n", expected, line);
            ++differences;
        }
    }
    while (fgets(expected, sizeof expected, file)) {
        fprintf(stderr, "missing: %s", expected);
        ++differences;
    }
    fclose(file);
    return differences > 0;
}

int main(int argc, char** argv) {
    char line[128];

    if (sizeof(void*) != 8) {
        puts("layout.txt is that of machines with pointers of 8 bytes");
        return 0;
    }
    if (holes() > 0)
        return 1;
    if (argc > 1)
        return compare(argv[1]);
    for (size_t i = 0; i < kCount; ++i) {
        describe(&kFields[i], line, sizeof line);
        puts(line);
    }
    return 0;
}
