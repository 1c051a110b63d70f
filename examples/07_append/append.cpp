// Particles bounce in a box, and each bounce is an event in a log. Steps have nothing to do with it.
// Run two of them: ./append_cpp append.xml 0 & ./append_cpp append.xml 1; wait
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <damaris/damaris.hpp>

namespace {

constexpr int kParticles = 100, kSteps = 200;

struct Event {  // 16 bytes, as they are in the file
  std::int32_t particle, wall;
  double time;
};

int simulate(const damaris::Log& events) {
  std::array<double, kParticles> place, speed;
  for (std::size_t i = 0; i < kParticles; ++i) {
    place[i] = (static_cast<double>(i) + 0.5) / kParticles;
    speed[i] = 0.01 + 0.0001 * static_cast<double>(i);
  }
  int bounces = 0;
  for (int step = 0; step < kSteps; ++step)
    for (std::size_t i = 0; i < kParticles; ++i) {
      place[i] += speed[i];
      if (place[i] >= 0 && place[i] <= 1) continue;
      const Event bounce = {static_cast<std::int32_t>(i), place[i] > 1 ? 1 : 0, static_cast<double>(step)};
      speed[i] = -speed[i];
      const dc_position_t where = events.append(&bounce, sizeof bounce);
      if (bounces++ == 0)
        std::printf("the first bounce is at byte %llu of file %lld\n", static_cast<unsigned long long>(where.offset),
                    static_cast<long long>(where.file));
    }
  return bounces;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: append_cpp CONFIG ID   (each process of a run has another ID: 0, 1, ...)\n");
    return 2;
  }
  try {
    auto session = damaris::Session::attach(argv[1], std::atoi(argv[2]));
    const damaris::Log events = session.log("events");
    const int bounces = simulate(events);
    events.commit(std::chrono::seconds(30));  // from here on they survive the end of the machine
    std::printf("%d bounces\n", bounces);
    session.finalize();
  } catch (const damaris::Error& error) {
    std::fprintf(stderr, "append: %s\n", error.what());
    return 1;
  }
  return 0;
}
