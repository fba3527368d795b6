/** Registrations that fail after trust, of managers that do not listen when it is taken back. Source: behaviour platform.md 4. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { User } from '@hyperplane/contract/iam/user'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { DriverError } from '../../../src/core/tasks/define-task.ts'
import { RegistrationAttempt } from '../../../src/domains/platform/registration-attempt.ts'
import type { RemoteFaultFact } from '../../../src/drivers/simulated/remote-managers.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { forgetStretch, register, registrations, unregister } from '../../support/registering.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

const remote = seedId('manager/dr-site')
const address = '10.46.1.9'

/** `dr-site` is registered anew; after trust it gets this fault, and the registration fails. */
async function withFault(fault: RemoteFaultFact, work: (app: TestApp, undoing: Promise<void>) => Promise<void>) {
  const undoing = Promise.withResolvers<void>()
  let app: TestApp | undefined
  app = await startApp({
    beforeStep: async (definition, step, phase) => {
      if (definition !== 'platform.register-remote') return
      if (step === 'exchange trust' && phase === 'undo') undoing.resolve()
      if (step !== 'import inventory' || phase !== 'record') return
      await app?.world.collection<RemoteFaultFact>('remotes.faults').put(remote, fault)
      throw DriverError.final('no room')
    },
  })
  try {
    await forgetStretch(app)
    await app.task(await unregister(app, { extId: remote }))
    await work(app, undoing.promise)
    assert.equal((await app.call('GET', registrations)).total, 3)
    assert.deepEqual(await app.store.find(RegistrationAttempt), [])
    const accounts = (await app.store.find(User)).filter(({ username }) => username.startsWith('manager-'))
    assert.deepEqual(accounts, [], 'its account ended')
    await checkInvariants(app)
  } finally {
    await app.close()
  }
}

test('a manager whose certificate has changed is unregistered at once, and the caller gets the reason', () =>
  withFault({ hasWrongCertificate: true }, async (app) => {
    const task = await app.task(await register(app, address, { isManager: true }))
    assert.equal(task.status, 'FAILED')
    assert.match(task.warnings[0].message, /could not be notified .*another certificate/)
  }))

test('an unregistration waits an hour of server time for a manager that does not answer, and then completes', () =>
  withFault({ isUnreachable: true }, async (app, undoing) => {
    const started = await register(app, address, { isManager: true })
    await undoing
    await app.clock.advance(3_500_000)
    const running = await app.call('GET', `/platform/v4.3/config/tasks/${started.data.extId}`)
    assert.equal(running.data.status, 'RUNNING')
    await app.clock.advance(100_000)
    const task = await app.task(started)
    assert.equal(task.status, 'FAILED')
    assert.match(task.warnings[0].message, /could not be notified .*no answer/)
  }))
