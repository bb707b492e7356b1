"""The options with which Bazel compiles C++, for our rules that run the compiler or a tool that takes its options."""

def cppToolchain(ctx):
    """Returns the C++ toolchain of a rule or aspect, which must have the attribute `_toolchain`."""
    return ctx.attr._toolchain[cc_common.CcToolchainInfo]

def compileFlags(ctx, context, copts = []):
    """Returns (options, path of the compiler) for sources with the compilation context `context`.

    The rule of ctx needs the fragment 'cpp' and the attribute `_toolchain`."""
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
