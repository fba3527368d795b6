/**
 * Places outside the simulated world: `--allow-outbound` and `--allow-address` open them to registrations, `--offline` closes
 * them to everything. Source: behaviour platform.md 4; iam.md 4, 5.
 */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import type { Config } from '../../../src/config/config.ts'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { lab } from '../../../src/seeds/demo/registrations.ts'
import { targets } from '../../support/backups.ts'
import { register } from '../../support/registering.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'

const outside = ['192.0.2.7', '2001:db8::7', 'other.example.com'] as const
const addressOf = (host: string): object =>
  host.includes(':') ? { ipv6: { value: host } } : { [/^\d/.test(host) ? 'ipv4' : 'fqdn']: { value: host } }

async function within(config: Partial<Config>, work: (app: TestApp) => Promise<void>): Promise<void> {
  const app = await startApp({ config })
  try {
    await work(app)
  } finally {
    await app.close()
  }
}

/** Refused at once: 400 for one field, whose message names each of these. */
function refused({ status, errors }: CallResult, ...named: readonly string[]): void {
  assert.equal(status, 400, JSON.stringify(errors))
  for (const text of named) assert.ok(errors[0]?.message.includes(text), `${text} in: ${errors[0]?.message}`)
}

/** Nobody is called: every first contact fails by a rule. The registration was accepted, and its task says why it failed. */
async function isCalled(app: TestApp, host: string, isManager = true): Promise<void> {
  const task = await app.task(await register(app, addressOf(host), { isManager }))
  assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', 'DM-30004'])
}
const failFirstContacts = async (app: TestApp): Promise<void> => {
  const body = {
    match: { driverCall: { driver: 'remoteManagers', method: 'reach' } },
    effect: { driverFault: 'unreachable' },
  }
  assert.equal((await app.call('POST', '/control/v1/worlds/default/faults', { body })).status, 201)
}

describe('a registration outside the simulated world', () => {
  for (const isManager of [true, false])
    test(`is refused at once, of a ${isManager ? 'manager' : 'cluster'}; a dry run too`, () =>
      within({}, async (app) => {
        for (const host of outside)
          for (const query of ['', '?$dryrun=true']) {
            const answer = await register(app, addressOf(host), { isManager }, query)
            refused(answer, host, '--allow-outbound', '--allow-address')
          }
      }))

  test('of a loopback address stays refused with --allow-outbound', () =>
    within({ allowOutbound: true }, async (app) => {
      refused(await register(app, '127.0.0.1'), 'a loopback address', '--allow-address')
      refused(await register(app, addressOf('staging.localhost')), 'a loopback address', '--allow-address')
    }))

  test('is accepted with --allow-outbound', () =>
    within({ allowOutbound: true }, async (app) => {
      await failFirstContacts(app)
      for (const host of outside) await isCalled(app, host)
    }))

  test('is accepted where --allow-address names its network; others stay refused', () =>
    within({ allowAddress: ['192.0.2.0/24'] }, async (app) => {
      await failFirstContacts(app)
      await isCalled(app, '192.0.2.7')
      await isCalled(app, '192.0.2.7', false)
      refused(await register(app, '198.51.100.7', { isManager: true }), '198.51.100.7', '--allow-outbound')
    }))
})

describe('with --offline', () => {
  const offline = { offline: true } as const

  test('a registration is refused, also of a network that --allow-address names', () =>
    within({ ...offline, allowAddress: ['192.0.2.0/24'] }, async (app) => {
      for (const host of outside) refused(await register(app, addressOf(host), { isManager: true }), host, '--offline')
    }))

  test('managers of the simulated world can still be registered', () =>
    within(offline, async (app) => {
      assert.equal((await app.task(await register(app, lab.address))).status, 'SUCCEEDED')
    }))

  test('a directory elsewhere is refused', () =>
    within(offline, async (app) => {
      const body = {
        name: 'far',
        url: 'ldaps://directory.example.com',
        domainName: 'example.com',
        directoryType: 'ACTIVE_DIRECTORY',
        serviceAccount: { username: 'reader@example.com', password: 'Secret.Passw0rd' },
      }
      refused(
        await app.call('POST', '/iam/v4.1.b2/authn/directory-services', { body }),
        'directory.example.com',
        '--offline',
      )
    }))

  test('a metadata URL elsewhere is refused', () =>
    within(offline, async (app) => {
      const body = { name: 'far', idpMetadataUrl: 'https://sso.example.com/metadata' }
      const answer = await app.call('POST', '/iam/v4.1.b2/authn/saml-identity-providers', { body })
      refused(answer, 'sso.example.com', '--offline')
    }))

  test('a bucket elsewhere fails its task, which says why', () =>
    within(offline, async (app) => {
      const body = {
        location: {
          $objectType: 'platform.v4.management.ObjectStoreLocation',
          providerConfig: {
            $objectType: 'platform.v4.management.GenericS3Config',
            bucketName: 'backups',
            connectionConfig: { ipAddressOrHostname: { fqdn: { value: 's3.example.com' } } },
            credentials: {
              accessKeyId: 'A-KEY-OF-THE-TEST',
              secretAccessKey: 'a-secret-of-the-test-that-is-long-enough',
            },
          },
          backupPolicy: { rpoInMinutes: 60 },
        },
      }
      const task = await app.task(await app.call('POST', targets, { body, requestId: randomUUID() }))
      assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', 'DM-30021'])
      assert.match(task.errorMessages[0].message, /s3\.example\.com.*--offline/)
    }))

  test('a revocation list elsewhere cannot be read, with the option as the reason', () =>
    within(offline, async (app) => {
      await assert.rejects(app.drivers.web.fetch({ url: 'http://pki.example.com/ca.crl', ...limits }), /--offline/)
      assert.match((await app.drivers.web.refusalOf('http://ocsp.example.com')) ?? '', /--offline/)
    }))

  test('an image from a URL is created: the simulated world has every server of content', () =>
    within(offline, async (app) => {
      const body = {
        name: 'from-url',
        type: 'DISK_IMAGE',
        source: { $objectType: 'vmm.v4.content.UrlSource', url: 'https://images.example.com/a.qcow2' },
        clusterLocationExtIds: [seedId('cluster/hp-native-01')],
      }
      const task = await app.task(await app.call('POST', '/vmm/v4.2/content/images', { body, requestId: randomUUID() }))
      assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
    }))
})

const limits = { maximumBytes: 1000, timeoutMilliseconds: 1000 }
