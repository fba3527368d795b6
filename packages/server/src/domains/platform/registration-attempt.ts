/** Reserves the address and stores the credentials of a registration in progress. Source: behaviour platform.md 4. */
import { object, resource, secret, taskId, text } from '@hyperplane/contract'

export const RegistrationAttempt = resource('internal.v1.platform.RegistrationAttempt', {
  fields: {
    address: text(),
    taskExtId: taskId(),
    /** Deleted once the remote side trusts this manager. */
    credentials: secret(object('', { username: text(), password: text() })),
    accountKey: secret(text()),
  },
  unique: [{ fields: ['address'] }],
  // Exists only while a task runs, which prevents an export.
  leftOut: 'unmentioned',
})
