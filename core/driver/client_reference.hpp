#pragma once
// How a client is named where clients are chosen:
//
//     DRIVER[:VARIANT][@VERSION]          paho, paho:thread, paho@2.1.0, paho:thread@2.1.0
//     DRIVER[:VARIANT]@CHECKOUT[=NAME]    paho@../paho.mqtt.python, paho@.=mine
//
// DRIVER is an id or a path (discovery.hpp); VARIANT one that its driver.toml declares; VERSION a
// release of its package; CHECKOUT, which has a '/' or is '.' or '..', a working copy of the library.

#include "driver/discovery.hpp"

#include <string>
#include <string_view>

namespace mqcore::driver {

struct ClientReference {
    std::string driver = {};   // id or path
    std::string variant = {};  // empty: none
    std::string version = {};  // empty: the locked one, or a checkout
    std::string checkout = {}; // as written; empty: none
    std::string name = {};     // of the checkout in results; empty: its folder's

    bool operator==(const ClientReference&) const = default;
};

// Reads the text alone; an Error says what is wrong with it.
support::Result<ClientReference> parse_client_reference(std::string_view text);

// The client of that name: its driver, with id, variant and choice as named. No path of this machine
// gets into its id: a checkout is shown as NAME, else by its folder's name. An Error where driver,
// variant or checkout are not there, or where the driver has no package whose release could be chosen.
support::Result<Descriptor> client_named(std::string_view text, const Catalogue& catalogue);

// Adds a client to those chosen before. The same one twice is one; another one of the same id is an
// Error, since results could not tell them apart.
support::Result<void> add_client(Descriptor client, std::vector<Descriptor>& clients);

// The id as a file name that is safe on any file system, another one for any other id: ':' becomes '_'.
std::string file_name_of_client(std::string_view id);

} // namespace mqcore::driver
