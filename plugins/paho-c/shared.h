/* What the drivers of both APIs of Eclipse Paho MQTT C, MQTTAsync and MQTTClient, do alike. */
#ifndef MQCORE_PAHO_C_SHARED_H
#define MQCORE_PAHO_C_SHARED_H

#include "mqcore/driver.h"

#include <MQTTProperties.h>

#include <stdio.h>
#include <string.h>

/* The broker's address as the library wants it; false: it does not fit. */
static inline int broker_uri(const mqcore_run* run, char* uri, size_t bytes) {
    const int is_ipv6 = strchr(run->host, ':') != NULL;

    return snprintf(uri, bytes, "%s://%s%s%s:%u", run->ca_file ? "ssl" : "tcp", is_ipv6 ? "[" : "",
                    run->host, is_ipv6 ? "]" : "", run->port) < (int)bytes;
}

/* False: it does not fit. */
static inline int client_id_of(const mqcore_run* run, uint32_t index, char* id, size_t bytes) {
    return snprintf(id, bytes, index == 0 ? "%s" : "%s-%u", run->client_id, index) < (int)bytes;
}

/* The library keeps the SSL object of its socket to itself. */
static inline void note_tls(const mqcore_host* host) {
    host->note(host, "tls.version", "not known: Paho C has no call for it");
    host->note(host, "tls.cipher", "not known: Paho C has no call for it");
}

/* MQTT 3.1.1 section 3.2.2.3. */
static inline const char* connack_text(int code) {
    static const char* const kTexts[] = {NULL,
                                         "unacceptable protocol version",
                                         "identifier rejected",
                                         "server unavailable",
                                         "bad user name or password",
                                         "not authorized"};
    return code > 0 && code < (int)(sizeof kTexts / sizeof *kTexts) ? kTexts[code] : NULL;
}

static inline int add_number(MQTTProperties* all, enum MQTTPropertyCodes code, uint32_t number) {
    MQTTProperty property;

    memset(&property, 0, sizeof property);
    property.identifier = code;
    property.value.integer2 = (unsigned short)number;
    return MQTTProperties_add(all, &property);
}

static inline int add_data(MQTTProperties* all, enum MQTTPropertyCodes code, const void* data,
                           size_t bytes, const char* value) {
    MQTTProperty property;

    memset(&property, 0, sizeof property);
    property.identifier = code;
    property.value.data = (MQTTLenString){.len = (int)bytes, .data = (char*)data};
    if (value)
        property.value.value = (MQTTLenString){.len = (int)strlen(value), .data = (char*)value};
    return MQTTProperties_add(all, &property);
}

/* The PUBLISH properties of a run, in *all: the library copies them for each message. All of a run's
 * messages carry the same. 0, or the library's error code. */
static inline int add_publish_properties(MQTTProperties* all, const mqcore_run* run) {
    int failed = 0;

    if (run->properties_count > 0) {
        const mqcore_properties* set = run->properties[0];
        if (set->content_type)
            failed = add_data(all, MQTTPROPERTY_CODE_CONTENT_TYPE, set->content_type,
                              strlen(set->content_type), NULL);
        if (!failed && set->response_topic)
            failed = add_data(all, MQTTPROPERTY_CODE_RESPONSE_TOPIC, set->response_topic,
                              strlen(set->response_topic), NULL);
        if (!failed && set->correlation_data)
            failed = add_data(all, MQTTPROPERTY_CODE_CORRELATION_DATA, set->correlation_data,
                              set->correlation_data_bytes, NULL);
        for (uint32_t i = 0; !failed && i < set->user_count; ++i)
            failed = add_data(all, MQTTPROPERTY_CODE_USER_PROPERTY, set->user[i].name,
                              strlen(set->user[i].name), set->user[i].value);
    }
    if (!failed && run->topic_alias_max > 0)
        failed = add_number(all, MQTTPROPERTY_CODE_TOPIC_ALIAS, run->topic_alias_max);
    return failed;
}

#endif
