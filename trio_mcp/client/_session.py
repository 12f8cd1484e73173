"""One session with a server: the verbs of the protocol, as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trio_mcp import types
from trio_mcp._checks import check_kind, check_text
from trio_mcp._codec import encode

from ._arguments import (
    add_input,
    check_options,
    texts_to_json,
)
from ._callbacks import Callbacks, ClientRequestContext
from ._declaration import declare
from ._extensions_of_client import Extensions
from ._results import refuse_input
from ._roads import channel_opener
from ._serving import ClientServing
from ._session_tools import ToolSession

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trio_mcp._rpc._channel import Channel
    from trio_mcp._rpc._link import ProgressFn
    from trio_mcp.types import (
        ErrorData,
        Implementation,
        InputRequest,
        InputResponse,
        InputResponses,
        ListResourceTemplatesResult,
        LoggingLevel,
        RequestParamsMeta,
        SamplingCapability,
    )
    from trio_mcp.types._base import JsonObject

    from ._callbacks import (
        ElicitationFnT,
        ListRootsFnT,
        LoggingFnT,
        MessageHandlerFnT,
        SamplingFnT,
    )
    from ._extensions import ClientExtension, NotificationBinding, ResultClaim
    from ._session_life import OpenLink


class ClientSession(ToolSession):
    """The verbs of the protocol on one connection; `Client` is the pleasant face on it.

    Enter it, then `discover` or `initialize` (or `adopt` what is known already). Any number
    of tasks may call at once.

    Args:
      read_stream: What a transport yields: a channel, or its receiving end.
      write_stream: The sending end.
      read_timeout_seconds: How long each request may wait for its answer, from when it was
          written; None for no limit. A server that does not read keeps a request from being
          written: that ends after `max_total_timeout`, which is ten times the limit where a
          call does not set it. Trio's cancel scopes work, too.
      sampling_callback: And its siblings: what answers a server's questions and takes what
          it tells. Each runs in a task of its own.
      client_info: Who this client says it is.
      log_level: Ask for log messages, from this level on: a modern server with each request, an
        older one that announces them after the handshake (``logging/setLevel``).
      sampling_capabilities: What the sampling callback can do beyond the minimum.
      extensions: What is declared and understood beyond the core protocol, as of `Client`; or a
          dict of extensions that are only declared, with their settings.
      result_claims: By extension, what else it claims of the results of tools.
      notification_bindings: What else listens to notifications of extensions.
      ping_interval: Seconds between signs of life that an older server is asked for; one that
          is not answered within as many ends the connection. None, the default, for none.
      open_link: Opens another way to the server, in place of the two streams.

    """

    def __init__(
        self,
        read_stream: Channel | None = None,
        write_stream: Channel | None = None,
        read_timeout_seconds: float | None = None,
        sampling_callback: SamplingFnT | None = None,
        elicitation_callback: ElicitationFnT | None = None,
        list_roots_callback: ListRootsFnT | None = None,
        logging_callback: LoggingFnT | None = None,
        message_handler: MessageHandlerFnT | None = None,
        client_info: Implementation | None = None,
        *,
        log_level: LoggingLevel | None = None,
        sampling_capabilities: SamplingCapability | None = None,
        extensions: Sequence[ClientExtension]
        | dict[str, dict[str, Any]]
        | Extensions
        | None = None,
        result_claims: Mapping[str, Sequence[ResultClaim[Any]]] | None = None,
        notification_bindings: Sequence[NotificationBinding[Any]] | None = None,
        ping_interval: float | None = None,
        open_link: OpenLink | None = None,
    ) -> None:
        if open_link is None:
            if read_stream is None:
                raise TypeError("ClientSession needs the streams of a transport, or open_link")
            open_link = channel_opener(read_stream, write_stream)
        callbacks = Callbacks(
            sampling=sampling_callback,
            elicitation=elicitation_callback,
            list_roots=list_roots_callback,
            logging=logging_callback,
            message_handler=message_handler,
        )
        check_options(
            {
                "read_timeout_seconds": read_timeout_seconds,
                "sampling_callback": sampling_callback,
                "elicitation_callback": elicitation_callback,
                "list_roots_callback": list_roots_callback,
                "logging_callback": logging_callback,
                "message_handler": message_handler,
                "client_info": client_info,
                "log_level": log_level,
                "sampling_capabilities": sampling_capabilities,
                "ping_interval": ping_interval,
                "open_link": open_link,
            }
        )
        given = Extensions.given(extensions, result_claims, notification_bindings)
        declaration = declare(callbacks, sampling_capabilities, given, client_info, log_level)
        super().__init__(
            open_link,
            ClientServing(self, callbacks, declaration.capabilities, given),
            declaration,
            read_timeout_seconds=read_timeout_seconds,
            ping_interval=ping_interval,
        )

    # Resources

    async def list_resources(
        self, *, params: types.PaginatedRequestParams | None = None
    ) -> types.ListResourcesResult:
        """Ask for one page of the server's resources.

        Raises:
          MCPError: as `call_tool`: what the server answered, or why there is no answer.

        """
        return await self._list("resources/list", params, types.ListResourcesResult)

    async def list_resource_templates(
        self, *, params: types.PaginatedRequestParams | None = None
    ) -> ListResourceTemplatesResult:
        """Ask for one page of the server's resource templates.

        Raises:
          MCPError: as `call_tool`: what the server answered, or why there is no answer.

        """
        from trio_mcp.types import ListResourceTemplatesResult  # noqa: PLC0415 - as above

        return await self._list("resources/templates/list", params, ListResourceTemplatesResult)

    async def read_resource(
        self,
        uri: str,
        *,
        input_responses: InputResponses | None = None,
        request_state: str | None = None,
        meta: RequestParamsMeta | None = None,
        allow_input_required: bool = False,
        read_timeout_seconds: float | None = None,
        progress_callback: ProgressFn | None = None,
        reset_timeout_on_progress: bool = False,
        max_total_timeout: float | None = None,
    ) -> types.ReadResourceResult | types.InputRequiredResult:
        """Ask for the contents of a resource. The arguments are as for `call_tool`.

        Raises:
          MCPError: as `call_tool`: what the server answered, or why there is no answer.

        """
        check_text("uri", uri)
        params: JsonObject = {"uri": uri}
        add_input(params, input_responses, request_state, allow_input_required, self._revision)
        options = self._options(
            "read_timeout_seconds",
            read_timeout_seconds,
            progress_callback,
            reset_timeout_on_progress=reset_timeout_on_progress,
            max_total_timeout=max_total_timeout,
        )
        result = await self._ask("resources/read", params, types.ReadResourceResult, options, meta)
        return result if allow_input_required else refuse_input("resources/read", result)

    # Prompts and completion

    async def list_prompts(
        self, *, params: types.PaginatedRequestParams | None = None
    ) -> types.ListPromptsResult:
        """Ask for one page of the server's prompts.

        Raises:
          MCPError: as `call_tool`: what the server answered, or why there is no answer.

        """
        return await self._list("prompts/list", params, types.ListPromptsResult)

    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, str] | None = None,
        *,
        input_responses: InputResponses | None = None,
        request_state: str | None = None,
        meta: RequestParamsMeta | None = None,
        allow_input_required: bool = False,
        read_timeout_seconds: float | None = None,
        progress_callback: ProgressFn | None = None,
        reset_timeout_on_progress: bool = False,
        max_total_timeout: float | None = None,
    ) -> types.GetPromptResult | types.InputRequiredResult:
        """Ask for a prompt, filled in with the arguments. The others are as for `call_tool`.

        Raises:
          MCPError: as `call_tool`: what the server answered, or why there is no answer.

        """
        check_text("name", name)
        params: JsonObject = {"name": name}
        if arguments is not None:
            params["arguments"] = texts_to_json("arguments", arguments)
        add_input(params, input_responses, request_state, allow_input_required, self._revision)
        options = self._options(
            "read_timeout_seconds",
            read_timeout_seconds,
            progress_callback,
            reset_timeout_on_progress=reset_timeout_on_progress,
            max_total_timeout=max_total_timeout,
        )
        result = await self._ask("prompts/get", params, types.GetPromptResult, options, meta)
        return result if allow_input_required else refuse_input("prompts/get", result)

    async def complete(
        self,
        ref: types.ResourceTemplateReference | types.PromptReference,
        argument: dict[str, str],
        context_arguments: dict[str, str] | None = None,
    ) -> types.CompleteResult:
        """Ask for values that would complete an argument.

        Args:
          ref: The prompt or the resource template that the argument belongs to.
          argument: Its ``name``, and the ``value`` typed so far.
          context_arguments: Arguments that are settled already; told since 2025-06-18.

        Raises:
          MCPError: as `call_tool`: what the server answered, or why there is no answer.

        """
        check_kind("ref", ref, (types.PromptReference, types.ResourceTemplateReference))
        revision = self._require_revision()
        params: JsonObject = {
            "ref": encode(ref, revision),
            "argument": texts_to_json("argument", argument),
        }
        if context_arguments is not None:
            settled = texts_to_json("context_arguments", context_arguments)
            if revision.has_completion_context:
                params["context"] = {"arguments": settled}
        return await self._complete("completion/complete", params, types.CompleteResult)

    async def dispatch_input_request(
        self, ctx: ClientRequestContext, request: InputRequest
    ) -> InputResponse | ErrorData:
        """Have this session's callback answer one question of an `InputRequiredResult`.

        Raises:
          MCPError: -32601 if there is no such callback, -32602 if it asks for more than was
              declared.

        """
        check_kind("ctx", ctx, ClientRequestContext)
        check_kind("request", request, types.Request)
        return await self._serving.ask(ctx, request.method, request.params)
