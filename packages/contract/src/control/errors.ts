export const controlErrors = {
  WORLD_EXISTS: { code: 'CTRL-10001', status: 409, message: 'There is a world {name} already. Choose another name.' },
  WORLD_NOT_FOUND: {
    code: 'CTRL-10002',
    status: 404,
    message: 'There is no {kind} {id} ({attribute}). GET /control/v1/worlds lists them; POST there makes one.',
  },
  WORLD_PERMANENT: {
    code: 'CTRL-10003',
    status: 409,
    message: 'The world default cannot be deleted: reset it, or stop the service and remove its data folder.',
  },
  WORLD_UNUSABLE: { code: 'CTRL-10004', status: 503, message: 'The world {name} does not open: {fault}' },
  WORLDS_DISAGREE: {
    code: 'CTRL-10005',
    status: 400,
    message: 'The {first} and the {second} of the request name different worlds: send one, or the same.',
  },
  WORLD_EVENT_TARGET_UNKNOWN: {
    code: 'CTRL-10020',
    status: 404,
    message: 'There is no {kind} "{name}" in this world. The nearest names: {nearest}.',
  },
  WORLD_EVENT_IMPOSSIBLE: { code: 'CTRL-10021', status: 409, message: '{fault}' },
  WORLD_EVENT_HAPPENED: {
    code: 'CTRL-10022',
    status: 409,
    message: 'The event {type} is {status}: only what is SCHEDULED can be called off. {remedy}',
  },
} as const
