"""The options with which Bazel compiles C++, for rules of ours that run the compiler or what reads like one."""

def cppToolchain(ctx):
    """The C++ toolchain of a rule or aspect that has it as `_toolchain`."""
    return ctx.attr._toolchain[cc_common.CcToolchainInfo]

def compileFlags(ctx, context, copts = []):
    """(options, path of the compiler) for sources that see `context`; ctx needs the fragment 'cpp' and `_toolchain`."""
    toolchain = cppToolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    cpp = ctx.fragments.cpp
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        user_compile_flags = cpp.copts + cpp.cxxopts + copts,
        include_directories = context.includes,
        quote_include_directories = context.quote_includes,
        system_include_directories = context.system_includes,
        preprocessor_defines = depset(transitive = [context.defines, context.local_defines]),
        use_pic = True,
    )
    action = "c++-compile"
    flags = cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = action,
        variables = variables,
    )
    return flags, cc_common.get_tool_for_action(feature_configuration = features, action_name = action)
