#pragma once
// Runs a helper program to its end and takes what it printed: environment tools, `mosquitto -h`,
// openssl. For long-lived children that are supervised see session/child.hpp.

#include "support/result.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace mqcore::support {

struct ProgramOutput {
    int exit_code = 0; // 128 + n when signal n ended it
    std::string out;   // stdout
    std::string err;   // stderr; empty when it was passed on
};

enum class ErrorStream { capture, pass_on };

// Blocks. The program is looked up in PATH; it reads no stdin. Past the time limit it is killed and
// the result is an Error. Not found: an Error that names it.
Result<ProgramOutput> run_program(const std::vector<std::string>& arguments,
                                  std::chrono::milliseconds limit,
                                  ErrorStream error_stream = ErrorStream::capture);

} // namespace mqcore::support
