/** Errors that any operation may answer. Source: behaviour conventions 11. Codes never change meaning. */
export const sharedErrors = {
  ROUTE_NOT_FOUND: {
    code: 'PLAT-10001',
    status: 404,
    group: 'RESOURCE_NOT_FOUND',
    message: 'There is no resource at "{path}". {hint}',
  },
  METHOD_NOT_ALLOWED: {
    code: 'PLAT-10002',
    status: 405,
    message: '"{path}" does not answer {method}. It answers {allowed}.',
  },
  MALFORMED_REQUEST: { code: 'PLAT-10003', status: 400, message: 'The request cannot be read: {fault}' },
  MISSING_ETAG_HEADER: {
    code: 'PLAT-10004',
    status: 428,
    message: 'The header If-Match is required. Read the {kind} first and send the ETag of that answer.',
  },
  INVALID_ETAG_HEADER: {
    code: 'PLAT-10005',
    status: 412,
    message:
      'Invalid eTag header: the {kind} changed since it was read, or the tag is not its own. Read it again and retry.',
  },
  ENTITY_NOT_FOUND: {
    code: 'PLAT-10007',
    status: 404,
    message:
      'There is no {kind} {id} ({attribute}), or it is not visible: valid metadata or attributes could not be fetched.',
  },
  INVALID_ARGUMENT: { code: 'PLAT-10008', status: 400, message: '{attributePath}: {fault}' },
  CONFLICT: { code: 'PLAT-10009', status: 409, message: '{fault}' },
  INVALID_ODATA_EXPRESSION: { code: 'PLAT-10010', status: 400, message: '{option}, position {position}: {fault}' },
  ENTITY_ALREADY_EXISTS: {
    code: 'PLAT-10011',
    status: 409,
    message: 'A {kind} with the same {fields} exists already. Choose another value.',
  },
  IMMUTABLE_ATTRIBUTE: {
    code: 'PLAT-10012',
    status: 400,
    message: '{attributePath} cannot change after creation: expected {expected}, found {found}.',
  },
  ENTITY_IN_USE: {
    code: 'PLAT-10013',
    status: 409,
    message: 'The {kind} "{name}" is in use by {users}. Remove those first.',
  },
  LIMIT_EXCEEDED: { code: 'PLAT-10014', status: 422, message: '{limit}: at most {maximum}, found {found}.' },
  ENTITY_BUSY: {
    code: 'PLAT-10015',
    status: 409,
    message: 'The {kind} "{name}" is being changed by task {taskExtId}. Wait for it, then retry.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    code: 'PLAT-10016',
    status: 415,
    group: 'UNSUPPORTED_REQUEST',
    message: 'Content-Type: expected {expected}, found {found}.',
  },
  NOT_ACCEPTABLE: {
    code: 'PLAT-10016',
    status: 406,
    group: 'UNSUPPORTED_REQUEST',
    message: 'Accept: this operation answers {expected}, asked for {found}.',
  },
  BODY_TOO_LARGE: {
    code: 'PLAT-10016',
    status: 413,
    group: 'UNSUPPORTED_REQUEST',
    message: 'The body is larger than {maximum} bytes.',
  },
  TARGET_TOO_LONG: {
    code: 'PLAT-10016',
    status: 414,
    group: 'UNSUPPORTED_REQUEST',
    message: 'The request line is longer than {maximum} bytes.',
  },
  HEADERS_TOO_LARGE: {
    code: 'PLAT-10016',
    status: 431,
    group: 'UNSUPPORTED_REQUEST',
    message: 'The headers are larger than {maximum}.',
  },
  RANGE_NOT_SATISFIABLE: {
    code: 'PLAT-10016',
    status: 416,
    group: 'UNSUPPORTED_REQUEST',
    message: 'Range: expected a part of {size} bytes, found {found}.',
  },
  EXPECTATION_FAILED: {
    code: 'PLAT-10016',
    status: 417,
    group: 'UNSUPPORTED_REQUEST',
    message: 'Expect: expected 100-continue or no such header, found {found}.',
  },
  REQUEST_TIMEOUT: {
    code: 'PLAT-10003',
    status: 408,
    group: 'MALFORMED_REQUEST',
    message: 'The request did not arrive in time. Send it again on a new connection.',
  },
  IDEMPOTENCY_KEY_REUSED: {
    code: 'PLAT-10020',
    status: 422,
    message: 'The request id {requestId} was used for another request. Send a new one.',
  },
  REQUEST_IN_PROGRESS: {
    code: 'PLAT-10021',
    status: 409,
    message: 'The request {requestId} is still running. Retry with the same id.',
  },
  CONSOLE_TOKEN_REFUSED: {
    code: 'PLAT-10401',
    status: 401,
    group: 'AUTHENTICATION_REQUIRED',
    message:
      'Expected ?token= with the VmConsoleToken of this VM: at most 5 minutes old, not used before, and the VM ON. Generate a new one.',
  },
  CONSOLE_ORIGIN_REFUSED: {
    code: 'PLAT-10403',
    status: 403,
    group: 'PERMISSION_DENIED',
    message: 'Origin: expected the address of this service, found {origin}. Pages of other sites cannot open consoles.',
  },
  AUTHENTICATION_REQUIRED: {
    code: 'PLAT-10401',
    status: 401,
    message: 'Valid credentials are required: HTTP Basic, or an API key.',
  },
  TOO_MANY_FAILED_SIGN_INS: {
    code: 'PLAT-10429',
    status: 429,
    group: 'RATE_LIMIT_EXCEEDED',
    message: 'Too many failed sign-ins from this address. Retry in {seconds} s.',
  },
  ACCESS_DENIED: {
    code: 'PLAT-10403',
    status: 403,
    message: 'The operation {operation} is not permitted for this identity{reason}.',
  },
  RATE_LIMIT_EXCEEDED: {
    code: 'PLAT-10429',
    status: 429,
    message: '{bucket} allows {limit} requests a {unit}. Retry in {seconds} s.',
  },
  INTERNAL_ERROR: {
    code: 'PLAT-10500',
    status: 500,
    message: 'Something went wrong inside the service. Quote the request id {requestId} to its operator.',
  },
  NOT_IMPLEMENTED: {
    code: 'PLAT-10501',
    status: 501,
    message: 'The operation {operation} is known and not built yet. The list of gaps says what is.',
  },
  SERVICE_UNAVAILABLE: { code: 'PLAT-10503', status: 503, message: '{fault}' },
  BACKEND_TIMEOUT: { code: 'PLAT-10504', status: 504, message: '{fault}' },
  BATCH_STOPPED: {
    code: 'PLAT-50012',
    status: 409,
    message: 'Not run: an earlier element failed and the batch stops on error.',
  },
  BATCH_CANCELED: { code: 'PLAT-50013', status: 409, message: 'Not run: the batch was cancelled.' },
} as const
