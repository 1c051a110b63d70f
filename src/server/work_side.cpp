#include "server/work_side.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/shm/dead_regions.hpp"
#include "core/shm/doorbell.hpp"
#include "core/shm/server_facts.hpp"
#include "server/make_region.hpp"
#include "server/roster.hpp"

namespace damaris::server {
namespace {

constexpr int kPostsPerVisit = 256;                  // bounded, because a plugin may keep posting to itself
constexpr int kJobsPerVisit = 64;                    // then the step in hand gets its turn
constexpr std::int64_t kAwaitedLogDelayMs = 10'000;  // after which the wait for other servers is logged

}  // namespace

WorkSide::WorkSide(std::shared_ptr<const model::Model> model, std::shared_ptr<shm::Region> region, const VariableInfos& infos,
                   std::unique_ptr<Coordinator> coordinator, std::vector<std::int32_t> clients, Handover& handover)
    : model_(std::move(model)),
      region_(std::move(region)),
      coordinator_(std::move(coordinator)),
      host_(model_),
      handover_(handover) {
  host_.watch([header = &region_->header()](const std::string& what) { shm::show_busy(*header, what); });
  RunFacts facts;
  facts.host_name = sanitized_host_name(region_->host());
  facts.job = shm::job_of_region(region_->name());
  facts.regions = shm::run_of_region(region_->name());
  facts.run = format("{:016x}", region_->header().run);
  facts.server_index = coordinator_->index();
  facts.server_count = coordinator_->count();
  facts.clients = std::move(clients);
  facts.variables = &infos.all();
  facts.communicator = coordinator_->communicator();
  facts.send = [this](int server, std::uint32_t plugin, std::string bytes) {
    return coordinator_->post(server, plugin, std::move(bytes));
  };
  host_.initialize(facts);
  logs_.emplace(*model_, *region_, facts.host_name, facts.server_index);
}

bool WorkSide::work_once() {
  bool worked = send_answers();
  if (state_ == State::finalized) return worked;
  worked |= run_jobs();
  if (state_ == State::finalized) return worked | send_answers();  // no plugin is called any more
  worked |= forward_decisions();
  worked |= deliver_posts();
  worked |= work_at_step();
  worked |= try_leave();
  if (!worked && state_ == State::working) worked = idle();
  send_answers();
  return worked;
}

bool WorkSide::send_answers() {
  bool sent = false;
  while (!unsent_.empty() && handover_.answers.try_push(unsent_.front())) {
    unsent_.pop_front();
    sent = true;
  }
  if (sent) shm::ring_server(region_->header());
  return sent;
}

// None while the intake side takes no answers: what waits here stays bounded.
bool WorkSide::run_jobs() {
  int taken = 0;
  for (; taken < kJobsPerVisit && unsent_.empty(); ++taken) {
    std::optional<Job> job = handover_.jobs.try_pop();
    if (!job) break;
    std::visit([this](auto& one) { run(one); }, *job);
    send_answers();
  }
  return taken > 0;
}

bool WorkSide::forward_decisions() {
  bool any = false;
  while (const std::optional<Decision> decision = coordinator_->poll()) {
    answer(*decision);
    any = true;
  }
  send_answers();  // first: a look that has brought nothing means that nothing had arrived
  if (unsent_.empty()) handover_.note_look();
  return any;
}

bool WorkSide::deliver_posts() {
  int taken = 0;
  for (; taken < kPostsPerVisit; ++taken) {
    const std::optional<Post> post = coordinator_->next_post();
    if (!post) break;
    report(host_.deliver(*post));
  }
  return taken > 0;
}

// Returns false if the plugins only wait for their turn, or for another server.
bool WorkSide::work_at_step() {
  if (!step_) return false;
  step_->view.age_s = seconds_since(step_->complete_since);
  step_->view.urgent = handover_.urgent.load(std::memory_order_relaxed) ? 1 : 0;
  step_->view.ending = handover_.ending.load(std::memory_order_relaxed) ? 1 : 0;
  const PluginHost::Outcome outcome = host_.process(step_->view);
  if (outcome == PluginHost::Outcome::again) return true;
  if (outcome == PluginHost::Outcome::waiting && (host_.trouble().empty() || step_->view.ending == 0)) return false;
  if (outcome == PluginHost::Outcome::waiting)
    answer(StepLeft{step_->view.step, host_.trouble()});
  else
    answer(StepProcessed{step_->view.step, host_.pop_result()});
  step_.reset();
  return true;
}

bool WorkSide::idle() {
  Status failure;
  const bool more = host_.idle(failure);
  report(failure);
  return more;
}

void WorkSide::report(const Status& status) {
  if (status.code != DC_OK) answer(PluginReport{status});
}

bool WorkSide::try_leave() {
  if (state_ != State::leaving) return false;
  if (!coordinator_->leave()) {
    log_awaited_servers();
    return false;
  }
  answer(AllLeft{});
  state_ = State::left;
  return true;
}

// No time-out would be right, because their clients may compute for hours (ADR 4). But the wait is logged.
void WorkSide::log_awaited_servers() {
  if (!awaited_log_deadline_) awaited_log_deadline_ = Deadline::after_ms(kAwaitedLogDelayMs);
  if (!awaited_log_deadline_->expired()) return;
  awaited_log_deadline_ = Deadline::never();
  log_line(LogLevel::warning,
           format("all clients of server {} have left and everything is stored; it waits until those of the other servers have, "
                  "{}; if one of them has died, end the job",
                  index(), index() == 0 ? "too" : "of which server 0 tells"));
}

void WorkSide::run(SetClients& job) { host_.set_clients(std::move(job.ids)); }

void WorkSide::run(RunActions& job) {
  ActionsRun done{job.key, job.scope, job.slot, {}};
  const model::Event& declared = model_->events[job.key.event];
  for (const model::Action& action : declared.actions) {
    if (action.scope != job.scope || (action.on_root && index() != 0)) continue;
    const dc_event_t event = {declared.name.c_str(), job.key.step, action.scope, job.source, job.key.instance, job.order};
    const Status result = host_.run(action, event, job.step.view());
    if (result.code < DC_OK || result.is_notice()) done.reports.push_back(result);
  }
  answer(std::move(done));
}

void WorkSide::run(ProcessStep& job) { step_ = job; }

void WorkSide::run(EndSteps& job) {
  if (job.step > passed_) {
    host_.set_lost(job.lost, job.never_attached);
    report(host_.passed(job.step));
    passed_ = job.step;
  }
  answer(StepsEnded{job.step});
}

void WorkSide::run(CompleteStep& job) { coordinator_->complete(job.step); }
void WorkSide::run(Announce& job) { coordinator_->announce(job.key); }
void WorkSide::run(Abandon& job) { coordinator_->abandon(job.key); }

Status WorkSide::fill(const ReadRequest& request) {
  if (!request.last_step) return host_.read(request.read);
  std::int64_t step = shm::kNoStep;
  const Status result = host_.last_step(request.read.variable, step);
  std::memcpy(request.read.data, &step, sizeof step);
  return result;
}

void WorkSide::run(ServeRead& job) {
  const dc_read_t& read = job.request.read;
  const Status result = fill(job.request);
  shm::Answer text = {};
  text.code = result.code;
  std::memcpy(text.sentence, result.message.data(), std::min(result.message.size(), sizeof text.sentence - 1));
  std::memcpy(static_cast<std::byte*>(read.data) + shm::answer_offset(read.bytes), &text, sizeof text);
  answer(ReadServed{job.request.block});
}

void WorkSide::run(StoreLogs& job) {
  shm::show_busy(region_->header(), "the files of logs");
  answer(logs_->store(job));
  shm::show_busy(region_->header(), "");
}

void WorkSide::run(Leave&) { state_ = State::leaving; }

void WorkSide::run(FinalizePlugins& job) {
  host_.set_lost(job.lost, job.never_attached);
  Status result = host_.finalize();
  if (const Status logs = logs_->finish(!job.has_unstored_appends); result.code >= DC_OK && logs.code != DC_OK) result = logs;
  answer(PluginsFinalized{std::move(result)});
  state_ = State::finalized;
}

}  // namespace damaris::server
