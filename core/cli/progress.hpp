#pragma once
// Progress of a campaign on stderr: one line that changes in place on a terminal, plain lines elsewhere.

#include "campaign/campaign.hpp"

namespace mqcore::cli {

class Progress : public campaign::Watcher {
  public:
    Progress(const campaign::Plan& plan, bool is_quiet);
    ~Progress() override;

    void started(const campaign::CampaignOptions& options, const std::filesystem::path& folder,
                 const std::vector<std::string>& not_comparable_because,
                 std::size_t runs_done) override;
    void run_started(const campaign::PlannedRun& run, std::size_t index,
                     support::Nanoseconds left_ns) override;
    void run_ended(const campaign::PlannedRun& run, std::size_t index,
                   const support::Json& document, bool is_retried) override;
    void note(const std::string& text) override;

  private:
    void print_line(const std::string& text);
    void clear_live_line();

    const campaign::Plan& plan_;
    bool is_quiet_;
    bool is_live_; // stderr is a terminal
    bool has_live_line_ = false;
};

} // namespace mqcore::cli
