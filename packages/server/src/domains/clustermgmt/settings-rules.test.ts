import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isOpenSshKey, toleranceWord } from './cluster-rules.ts'
import { isContiguous, keepSecrets, withSettingDefaults } from './settings-rules.ts'

test('a netmask is valid only if all one bits come first', () => {
  for (const mask of ['255.255.255.0', '255.255.254.0', '0.0.0.0', '255.255.255.255'])
    assert.ok(isContiguous(mask), mask)
  for (const mask of ['255.0.255.0', '0.0.0.255', '255.255.253.0']) assert.equal(isContiguous(mask), false, mask)
})

test('an OpenSSH key names its type twice', () => {
  const encoded = (type: string) =>
    Buffer.concat([Buffer.from([0, 0, 0, type.length]), Buffer.from(type), Buffer.alloc(36)]).toString('base64')
  assert.ok(isOpenSshKey(`ssh-ed25519 ${encoded('ssh-ed25519')} me@example.com`))
  assert.equal(isOpenSshKey(`ssh-rsa ${encoded('ssh-ed25519')}`), false)
  assert.equal(isOpenSshKey('ssh-rsa not*base64'), false)
  assert.equal(isOpenSshKey('-----BEGIN PUBLIC KEY-----'), false)
})

test('each number of tolerated failures has its fault tolerance level', () => {
  assert.deepEqual([0, 1, 2, 3].map(toleranceWord), ['CFT_0N_AND_0D', 'CFT_1N_OR_1D', 'CFT_2N_OR_2D', 'CFT_2N_OR_2D'])
})

test('an omitted secret is kept for its owner and for nobody else', () => {
  const stored: any = {
    smtpServer: { server: { password: 'p' } },
    snmpConfig: { users: [{ username: 'a', authKey: 'ka', privType: 'AES', privKey: 'pa' }] },
    ntpServerConfigList: [{ encryptionKeyId: 1, encryptionKey: 'n1' }],
    httpProxyList: [{ name: 'proxy', password: 'x' }],
  }
  const kept = keepSecrets<any>(
    {
      smtpServer: { server: { port: 25 } },
      snmpConfig: { users: [{ username: 'a', privType: 'AES' }, { username: 'b' }] },
      ntpServerConfigList: [{ encryptionKeyId: 2 }, { encryptionKeyId: 1 }],
      httpProxyList: [{ name: 'another' }],
    },
    stored,
  )
  assert.equal(kept.smtpServer.server.password, 'p')
  assert.deepEqual(kept.snmpConfig.users, [
    { username: 'a', privType: 'AES', authKey: 'ka', privKey: 'pa' },
    { username: 'b' },
  ])
  assert.deepEqual(kept.ntpServerConfigList, [{ encryptionKeyId: 2 }, { encryptionKeyId: 1, encryptionKey: 'n1' }])
  assert.deepEqual(kept.httpProxyList, [{ name: 'another' }])
})

test('the port of a mail server and the community of a V2 trap have defaults', () => {
  const filled = withSettingDefaults<any>({
    smtpServer: { type: 'STARTTLS', server: {} },
    snmpConfig: { traps: [{ version: 'V2' }, { version: 'V3' }] },
  })
  assert.equal(filled.smtpServer.server.port, 587)
  assert.deepEqual(filled.snmpConfig.traps, [{ version: 'V2', communityString: 'public' }, { version: 'V3' }])
})
