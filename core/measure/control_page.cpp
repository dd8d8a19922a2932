#include "measure/control_page.hpp"

#include <cerrno>
#include <cstring>
#include <new>
#include <sys/mman.h>

namespace mqcore::measure {
namespace {

constexpr std::size_t kPageBytes = 4096;

support::Error page_error(const char* what) {
    return {support::ErrorCode::host,
            std::string("cannot ") + what + " the control page: " + std::strerror(errno),
            {}};
}

void* map(int fd) { return ::mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0); }

} // namespace

std::string_view name_of(WorkerPhase phase) {
    constexpr std::string_view kNames[] = {"started",    "creating",      "created",
                                           "connecting", "connected",     "driving",
                                           "driven",     "disconnecting", "finished"};
    const auto index = static_cast<std::size_t>(phase);
    return index < std::size(kNames) ? kNames[index] : "unknown";
}

support::Result<SharedPage> SharedPage::create() {
    support::UniqueFd fd(::memfd_create("mqcore-control-page", MFD_CLOEXEC));
    if (!fd || ::ftruncate(fd.get(), kPageBytes) != 0)
        return page_error("make");
    void* memory = map(fd.get());
    if (memory == MAP_FAILED)
        return page_error("map");
    return SharedPage(std::move(fd), new (memory) ControlPage);
}

support::Result<SharedPage> SharedPage::attach(int descriptor) {
    support::UniqueFd fd(descriptor);
    void* memory = map(fd.get());
    if (memory == MAP_FAILED)
        return page_error("map");
    return SharedPage(std::move(fd), static_cast<ControlPage*>(memory));
}

SharedPage::SharedPage(SharedPage&& other) noexcept
    : fd_(std::move(other.fd_)), page_(std::exchange(other.page_, nullptr)) {}

SharedPage::~SharedPage() {
    if (page_)
        ::munmap(page_, kPageBytes);
}

} // namespace mqcore::measure
