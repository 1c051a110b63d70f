#include "queue/queues.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "core/shm/dead_regions.hpp"
#include "core/shm/doorbell.hpp"
#include "core/shm/lane.hpp"
#include "core/shm/region.hpp"

namespace damaris::bench {
namespace {

constexpr int kEventsPerVisit = 256;
constexpr std::int64_t kSleepMs = 2;
constexpr std::int64_t kPieceMs = 100;

void send_all(const shm::Region& region, std::uint32_t lane, std::int64_t messages) {
  shm::RegionHeader& header = region.header();
  shm::LaneWriter writer(region.lane(lane), kQueueEvents);
  shm::Message event = {};
  event.kind = shm::MessageKind::write;
  bool rang = false;
  for (std::int64_t i = 0; i < messages; ++i) {
    event.step = i;
    while (!writer.try_push(event)) {
      shm::ring_server(header);
      shm::wait_for_progress(header, kPieceMs, [&] { return writer.has_room(); });
    }
    const bool half = writer.more_than_half_full();
    if (half && !rang) shm::ring_server(header);
    rang = half;
  }
  shm::ring_server(header);
}

void take_all(const shm::Region& region, std::vector<shm::LaneReader>& readers, std::int64_t messages) {
  shm::Message event;
  const auto has_work = [&] { return std::any_of(readers.begin(), readers.end(), [](const auto& r) { return !r.empty(); }); };
  while (messages > 0) {
    bool worked = false;
    for (shm::LaneReader& reader : readers)
      for (int taken = 0; taken < kEventsPerVisit && reader.try_take(event); ++taken, --messages) worked = true;
    if (worked)
      shm::notify_lane_room(region.header());
    else
      shm::sleep_as_server(region.header(), kSleepMs, has_work);
  }
}

}  // namespace

Sample run_lanes(int producers, std::int64_t messages_each) {
  shm::RegionSpec spec;
  spec.name = shm::region_name("bench", shm::make_nonce(), 0, 0);
  spec.clients = static_cast<std::uint32_t>(producers);
  spec.lane_messages = kQueueEvents;
  shm::Region region = shm::Region::create(spec);
  region.memory().unlink_name();  // the children inherit the mapping
  std::vector<shm::LaneReader> readers;
  for (std::uint32_t lane = 0; lane < spec.clients; ++lane) readers.emplace_back(region.lane(lane), kQueueEvents);
  return run_processes(
      producers, producers * messages_each,
      [&](int producer) { send_all(region, static_cast<std::uint32_t>(producer), messages_each); },
      [&] { take_all(region, readers, producers * messages_each); });
}

}  // namespace damaris::bench
