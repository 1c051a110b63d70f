#include "encoder.hpp"

#include <damaris/error.hpp>
#include <new>
#include <string>

#include "plane_deflate.hpp"
#include "small_deflate.hpp"
#include "zstd.hpp"

namespace damaris::codec {
namespace {

template <class Worker>
class Door : public Encoder {
 public:
  template <class... Arguments>
  explicit Door(Arguments... arguments) : worker_(arguments...) {}

  Encoded encode(const Chunk& chunk) override {
    try {
      return worker_.encode(chunk);
    } catch (const std::bad_alloc&) {
      throw Error(DC_E_MEMORY, "no memory to compress a chunk of " + std::to_string(chunk.bytes()) +
                                   " bytes; choose smaller chunks, or leave the server more memory");
    }
  }

 private:
  Worker worker_;
};

void check_level(const char* codec, int level, int most) {
  if (level < 1 || level > most)
    throw Error(DC_E_CONFIG, std::string(codec) + " has no level " + std::to_string(level) + "; take one from 1 (fast) to " +
                                 std::to_string(most) + " (small)");
}

}  // namespace

std::unique_ptr<Encoder> Encoder::make(const Setting& setting) {
  try {
    if (setting.codec == Codec::kZstd) {
      check_level("zstd", setting.level, 19);
      return std::make_unique<Door<Zstd>>(setting.level, setting.simd);
    }
    check_level("deflate", setting.level, 12);
    if (setting.level == 1) return std::make_unique<Door<PlaneDeflate>>(setting.simd);
    return std::make_unique<Door<SmallDeflate>>(setting.level, setting.simd);
  } catch (const std::bad_alloc&) {
    throw Error(DC_E_MEMORY, "no memory for an encoder; leave the server more");
  }
}

}  // namespace damaris::codec
