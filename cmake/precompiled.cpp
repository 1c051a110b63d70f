// Empty: CMake needs a source in the target that holds precompiled headers.
