#include "model/sites.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

extern "C" const char __executable_start;  // the linker's: where the program was loaded

namespace damaris::explorer {
namespace {

class Sites {
 public:
  Sites() {
    if (const char* file = std::getenv("MODEL_SITES")) file_ = file;
    const char* weaken = std::getenv("MODEL_WEAKEN");
    if (weaken == nullptr) return;
    std::istringstream text(weaken);
    std::string word;
    std::getline(text, word, ':');
    weaker_ = static_cast<Order>(std::stoi(word));
    while (std::getline(text, word, ',')) weakened_.push_back(std::stoull(word, nullptr, 16));
  }
  ~Sites() {
    if (file_.empty()) return;
    std::ofstream out(file_, std::ios::app);
    for (const auto& [site, count] : reached_)
      out << std::hex << site.offset << " " << static_cast<int>(site.kind) << " " << site.order << "\n";
  }

  Order order_at(std::uint64_t offset, Kind kind, int order) {
    if (!file_.empty()) ++reached_[{offset, kind, order}];
    const bool is_weakened = std::find(weakened_.begin(), weakened_.end(), offset) != weakened_.end();
    return is_weakened ? weaker_ : static_cast<Order>(order);
  }

 private:
  struct Site {
    std::uint64_t offset;
    Kind kind;
    int order;
    bool operator<(const Site& other) const {
      return std::tie(offset, kind, order) < std::tie(other.offset, other.kind, other.order);
    }
  };

  std::string file_;
  std::map<Site, std::uint64_t> reached_;
  std::vector<std::uint64_t> weakened_;
  Order weaker_ = Order::relaxed;
};

}  // namespace

Order order_at(const void* caller, Kind kind, int order) {
  static Sites sites;
  return sites.order_at(static_cast<std::uint64_t>(static_cast<const char*>(caller) - &__executable_start), kind, order);
}

}  // namespace damaris::explorer
