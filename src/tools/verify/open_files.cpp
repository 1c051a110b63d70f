#include "open_files.hpp"

#include <sys/resource.h>

#include <algorithm>

#include "core/base/format.hpp"

namespace damaris::tools {
namespace {

constexpr std::uint64_t kOwn = 64;  // files that the reading program needs for itself: libraries, sockets, the master file

constexpr std::uint64_t kStepsOfSpan = 64;

// The files that a read opens, with the views of the steps, and of spans of steps, through which it finds them.
manifest::ViewFiles with_views(manifest::ViewFiles view) {
  view.all += view.steps + (view.steps + kStepsOfSpan - 1) / kStepsOfSpan;
  view.in_one_step += 2;
  return view;
}

std::string remedy(const manifest::ViewFiles& view, const OpenFiles& limit) {
  const std::uint64_t room = limit.soft > kOwn ? limit.soft - kOwn : 0, wanted = view.all + kOwn;
  const std::string raise = wanted <= limit.hard
                                ? format("say 'ulimit -n {}' before reading", wanted)
                                : format("ask the administrator for more than the {} that 'ulimit -n' can set", limit.hard);
  const std::uint64_t at_once = view.in_one_step == 0 ? 0 : room / view.in_one_step;
  if (at_once == 0) return raise + ", or have the servers share files (files=\"per-group\" or \"single\")";
  return raise + format(", or read at most {} steps before the file is closed and opened again", at_once);
}

}  // namespace

OpenFiles open_files() {
  struct rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  return {limit.rlim_cur, limit.rlim_max};
}

std::vector<std::string> too_many_files(const std::vector<manifest::ViewFiles>& views, const OpenFiles& limit) {
  std::vector<std::string> sentences;
  for (const manifest::ViewFiles& parts : views)
    if (const manifest::ViewFiles view = with_views(parts); view.all + kOwn > limit.soft)
      sentences.push_back(
          format("/{}: a read of all of it opens {} files ({} in one step) and the limit here is {}; what is beyond reads "
                 "as fill, without an error: {}",
                 view.variable, view.all, view.in_one_step, limit.soft, remedy(view, limit)));
  return sentences;
}

}  // namespace damaris::tools
