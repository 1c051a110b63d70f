// What shows a run as a whole, kept up to date with its manifest: the seam between the writer of the manifest and a storage's views. They show
// together only what the XML declared alike.
// Used by: the writer, on the server's dispatch thread.
// Before it: the XML; the manifest has a new line. After it: the storage's views, such as the master file.
#pragma once

#include <damaris/plugin.h>

#include <functional>
#include <memory>
#include <string>

#include "entries.hpp"

namespace damaris::manifest {

// "float64 in K", "{x: float64, n: int32[3]}".
std::string declared_as(const dc_variable_info_t& variable);

std::shared_ptr<const Declarations> declarations_of(const dc_host_t& host);

// Puts what a new view is into the manifest, and then the view into its place.
using EnterView = std::function<void(const ViewEntry&, const std::function<void()>& put_in_place)>;

class Views {
 public:
  enum class Work { none, more, later };

  virtual ~Views() = default;
  // The manifest is another file: what was read of the one before does not count.
  virtual void begin_again() = 0;
  // The manifest has grown.
  virtual void note() = 0;
  // A piece of the work that nobody waits for; `later`: there is more, but it would take too much of the server's time now.
  virtual Work work() = 0;
  // The end of this server's part. Throws damaris::Error(DC_E_IO); the views before stay.
  virtual void finish() = 0;
};

}  // namespace damaris::manifest
