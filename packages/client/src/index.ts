export {
  type Answer,
  ApiRefusal,
  type CallOptions,
  type ClientOptions,
  type FetchAnswer,
  type FetchInit,
} from './calls.ts'
export { type Client, createClient, TaskFailure } from './client.ts'
export { type ControlClient, createControlClient } from './control.ts'
