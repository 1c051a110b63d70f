# damaris_embed(target file symbol): compiles the text of FILE into TARGET.
# Read it with:  #include "embedded/<symbol>.hpp"   ->   damaris::embedded::<symbol>, a std::string_view that is valid for ever.
function(damaris_embed target file symbol)
  cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
  set(dir "${CMAKE_CURRENT_BINARY_DIR}/embed")
  set(script "${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake")
  add_custom_command(
    OUTPUT "${dir}/embedded/${symbol}.cpp" "${dir}/embedded/${symbol}.hpp"
    COMMAND "${CMAKE_COMMAND}" "-DTEXT_FILE=${file}" -DSYMBOL=${symbol} "-DOUT=${dir}/embedded/${symbol}" -P "${script}"
    DEPENDS "${file}" "${script}" COMMENT "Embedding ${symbol}" VERBATIM)
  target_sources(${target} PRIVATE "${dir}/embedded/${symbol}.cpp" "${dir}/embedded/${symbol}.hpp")
  target_include_directories(${target} PRIVATE "${dir}")
endfunction()
