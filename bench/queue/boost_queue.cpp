#include "queue/queues.hpp"

#include <unistd.h>

#include <boost/interprocess/ipc/message_queue.hpp>
#include <string>

#include "core/shm/lane.hpp"

namespace damaris::bench {

Sample run_message_queue(int producers, std::int64_t messages_each) {
  namespace ipc = boost::interprocess;
  const std::string name = "damaris.bench.queue." + std::to_string(::getpid());
  ipc::message_queue queue(ipc::create_only, name.c_str(), kQueueEvents, sizeof(shm::Message));
  ipc::message_queue::remove(name.c_str());  // the children inherit the mapping
  const auto send = [&](int) {
    shm::Message event = {};
    for (std::int64_t i = 0; i < messages_each; ++i) {
      event.step = i;
      queue.send(&event, sizeof event, 0);
    }
  };
  const auto receive = [&] {
    shm::Message event;
    ipc::message_queue::size_type bytes = 0;
    unsigned priority = 0;
    for (std::int64_t i = 0; i < producers * messages_each; ++i) queue.receive(&event, sizeof event, bytes, priority);
  };
  return run_processes(producers, producers * messages_each, send, receive);
}

}  // namespace damaris::bench
