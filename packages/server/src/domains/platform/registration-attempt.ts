/**
 * A registration in progress: reserves the address against a second one, and stores the credentials until trust is
 * exchanged. No operation returns it. Source: behaviour platform.md 4 (register).
 */
import { object, resource, secret, taskId, text } from '@hyperplane/contract'

export const RegistrationAttempt = resource(
  'internal.v1.platform.RegistrationAttempt',
  {
    address: text(),
    taskExtId: taskId(),
    /** For the remote side; deleted with this row once the remote side trusts this manager. */
    credentials: secret(object('', { username: text(), password: text() })),
    /** The API key that is sent to the remote manager. */
    accountKey: secret(text()),
  },
  { unique: [{ fields: ['address'] }] },
)
