#include "server/work_side.hpp"

#include "core/base/format.hpp"
#include "core/shm/busy.hpp"
#include "core/shm/dead_regions.hpp"
#include "server/make_region.hpp"

namespace damaris::server {
namespace {

constexpr int kPostsPerVisit = 256;  // bounded, because a plugin may keep posting to itself

}  // namespace

WorkSide::WorkSide(std::shared_ptr<const model::Model> model, shm::Region& region, const VariableInfos& infos,
                   std::unique_ptr<Coordinator> coordinator, std::vector<std::int32_t> clients, Report report)
    : coordinator_(std::move(coordinator)), host_(std::move(model)), report_(std::move(report)) {
  host_.watch([&region](const std::string& what) { shm::show_busy(region.header(), what); });
  RunFacts facts;
  facts.host_name = sanitized_host_name(region.host());
  facts.job = shm::job_of_region(region.name());
  facts.regions = shm::run_of_region(region.name());
  facts.run = format("{:016x}", region.header().run);
  facts.server_index = coordinator_->index();
  facts.server_count = coordinator_->count();
  facts.clients = std::move(clients);
  facts.variables = &infos.all();
  facts.communicator = coordinator_->communicator();
  facts.send = [this](int server, std::uint32_t plugin, std::string bytes) {
    return coordinator_->post(server, plugin, std::move(bytes));
  };
  host_.initialize(facts);
}

PluginHost::Pass WorkSide::work(double age_s, bool urgent) {
  step_.age_s = age_s;
  step_.urgent = urgent ? 1 : 0;
  const PluginHost::Pass pass = host_.process(step_);
  switch (pass) {
    case PluginHost::Pass::done:
      state_ = WorkState::empty;
      break;
    case PluginHost::Pass::again:
      state_ = WorkState::working;
      break;
    case PluginHost::Pass::waiting:
      state_ = WorkState::waiting;
      break;
  }
  return pass;
}

std::optional<std::int64_t> WorkSide::working_at() const noexcept {
  return state_ == WorkState::working ? std::optional(step_.step) : std::nullopt;
}

bool WorkSide::deliver_posts() {
  int taken = 0;
  for (; taken < kPostsPerVisit; ++taken) {
    const std::optional<Post> post = coordinator_->next_post();
    if (!post) break;
    report_(host_.deliver(*post));
  }
  return taken > 0;
}

bool WorkSide::idle() {
  Status failure;
  const bool more = host_.idle(failure);
  report_(failure);
  return more;
}

void WorkSide::pass(std::int64_t step, std::vector<dc_lost_t> lost, std::size_t never_attached) {
  if (step <= passed_) return;
  passed_ = step;
  host_.set_lost(std::move(lost), never_attached);
  report_(host_.passed(step));
}

}  // namespace damaris::server
