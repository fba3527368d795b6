import { errorTable } from '../error-table.ts'

export const controlErrors = errorTable({
  WORLD_EXISTS: { 'CTRL-10001 409': 'There is a world {name} already. Choose another name.' },
  WORLD_NOT_FOUND: {
    'CTRL-10002 404':
      'There is no {kind} {id} ({attribute}). GET /control/v1/worlds lists them; POST there creates one.',
  },
  WORLD_PERMANENT: {
    'CTRL-10003 409': 'The world default cannot be deleted: reset it, or stop the service and remove its data folder.',
  },
  WORLD_UNUSABLE: { 'CTRL-10004 503': 'The world {name} does not open: {fault}' },
  WORLDS_DISAGREE: {
    'CTRL-10005 400': 'The {first} and the {second} of the request name different worlds: send one, or the same.',
  },
  WORLD_EVENT_TARGET_UNKNOWN: {
    'CTRL-10020 404': 'There is no {kind} "{name}" in this world. The nearest names: {nearest}.',
  },
  WORLD_EVENT_IMPOSSIBLE: { 'CTRL-10021 409': '{fault}' },
  WORLD_EVENT_HAPPENED: {
    'CTRL-10022 409': 'The event {type} is {status}: only a SCHEDULED event can be cancelled. {remedy}',
  },
})
