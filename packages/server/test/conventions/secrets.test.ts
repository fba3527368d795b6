/**
 * A secret that was sent appears nowhere afterwards: not in an answer, a task, the audit trail, the log or the files.
 * Source: behaviour conventions 13, 25.37.
 */

import assert from 'node:assert/strict'
import { createPrivateKey, randomUUID } from 'node:crypto'
import fs, { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type AnySchema, contract } from '@hyperplane/contract'
import { seedId } from '../../src/core/ids/named-id.ts'
import { digestOf } from '../../src/drivers/simulated/place-doors.ts'
import { remotePasswordDigest, remoteSides } from '../../src/drivers/simulated/remote-managers.ts'
import { lab } from '../../src/seeds/demo/registrations.ts'
import { vcenterExtensionId, vcenterLogin } from '../../src/seeds/demo/vcenters.ts'
import { issue } from '../support/authorities.ts'
import { bucketTarget, onCluster, targets } from '../support/backups.ts'
import { clustermgmt, hostId, ids } from '../support/clustermgmt.ts'
import { creations, nativeCluster } from '../support/creations.ts'
import {
  answerFile,
  withProfile as cloneWithProfile,
  profiles as customizationProfiles,
  of,
  parameters,
  withParameters,
} from '../support/customization-profiles.ts'
import { type HttpResult, http } from '../support/http.ts'
import { ofUrl, ovas } from '../support/ovas.ts'
import { ownPath, registerBody } from '../support/registering.ts'
import { type S3Server, secretAccessKey, startS3Server } from '../support/s3-server.ts'
import { startApp, type TestApp } from '../support/start-app.ts'
import { fromVersion, fromVm, templates } from '../support/templates.ts'

const users = '/iam/v4.1.b2/authn/users'
const directories = '/iam/v4.1.b2/authn/directory-services'
const groups = '/volumes/v4.2/config/volume-groups'
const clients = '/volumes/v4.2/config/iscsi-clients'
const profiles = `${clustermgmt}/cluster-profiles`
const images = '/vmm/v4.2/content/images'
const vms = '/vmm/v4.2/ahv/config/vms'

let app: TestApp
let url: string
let objects: S3Server
const log: string[] = []
const { write, writeSync } = fs
before(async () => {
  // Captures the error stream, which holds the log.
  const keep = (text: string | Uint8Array): number => {
    log.push(typeof text === 'string' ? text : Buffer.from(text).toString())
    return Buffer.byteLength(text)
  }
  fs.writeSync = ((fd: number, text: any, ...rest: any[]) =>
    fd === 2 ? keep(text) : writeSync(fd, text, ...rest)) as typeof writeSync
  fs.write = ((fd: number, text: any, ...rest: any[]) => {
    if (fd !== 2) return (write as any)(fd, text, ...rest)
    const written = keep(text)
    setImmediate(() => rest.at(-1)(null, written, text))
  }) as never
  objects = await startS3Server()
  app = await startApp({
    config: objects.config,
    logLevel: 'trace',
    // A fault that nobody expected is logged: with the VM's whole request at hand.
    beforeStep: (definition, step, phase) => {
      if (isFailing && definition === 'vmm.create-vm' && step === 'store' && phase === 'record')
        throw new Error('unexpected')
    },
  })
  url = (await app.listen()).url
})
after(async () => {
  await app.close()
  await objects.close()
  Object.assign(fs, { write, writeSync })
})
let isFailing = false

const secrets = new Set<string>([secretAccessKey])
/** A new one, 13 characters long and unlike the one before: fit for a password and for CHAP. */
const secret = (): string => {
  const number = secrets.size + 10
  const letters = Array.from({ length: 8 }, (_, index) => String.fromCharCode(97 + ((number * 7 + index * 3) % 26)))
  const made = `S3.${letters.join('')}${number % 100}`
  secrets.add(made)
  return made
}

const answers: string[] = []
async function send(
  method: string,
  path: string,
  body?: unknown,
  more: { as?: string; tagOf?: string } = {},
): Promise<HttpResult> {
  const tag = more.tagOf === undefined ? undefined : ((await http(url, `/api${more.tagOf}`)).headers['etag'] as string)
  const answer = await http(url, `/api${path}`, {
    method,
    ...(more.as === undefined ? {} : { as: more.as }),
    headers: { 'SVC-Request-Id': randomUUID(), ...(tag === undefined ? {} : { 'If-Match': tag }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  answers.push(`${JSON.stringify(answer.headers)} ${answer.text}`)
  if (answer.status === 202) await app.task(taskOf(answer))
  return answer
}
/** Not every 202 names its task in the body. */
const taskOf = ({ headers }: HttpResult): string => String(headers['location']).split('/').at(-1) as string
/** The same, and it must succeed: the entity's id. */
async function made(...given: Parameters<typeof send>): Promise<string> {
  const answer = await send(...given)
  assert.ok(answer.status < 300, `${given[0]} ${given[1]}: ${answer.text}`)
  if (answer.status !== 202) return answer.json?.data?.extId
  const task = await app.task(taskOf(answer))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return task.entitiesAffected?.[0]?.extId
}

const sources = '/platform/v4.3/management/restore-sources'
const gateways = '/networking/v4.3/config/gateways'
const vpnServices = (hasSecrets = false): object => ({
  services: {
    $objectType: 'networking.v4.config.RemoteNetworkServices',
    remoteVpnService: { serviceAddress: { ipv4: { value: '203.0.113.77' } }, ...routing(hasSecrets) },
  },
})
function routing(hasSecrets: boolean): object {
  const withPassword = (): object => (hasSecrets ? { password: secret() } : {})
  return {
    ebgpConfig: { asn: 65077, ...withPassword() },
    peerIgpConfig: {
      ibgpConfigList: [{ peerIp: address, ...withPassword() }],
      ospfConfig: { areaId: '0.0.0.1', ...(hasSecrets && { authenticationType: 'MD5' }), ...withPassword() },
    },
  }
}
/** An appliance, which gets the secrets as well. */
const localVpnServices = (): object => ({
  deployment: { managementInterface: { subnetReference: seedId('subnet/vlan-100-app') } },
  services: { $objectType: 'networking.v4.config.LocalNetworkServices', localVpnService: routing(true) },
})
const name = (): string => `secretive-${randomUUID().slice(0, 8)}`
const address = { ipv4: { value: '10.6.6.6' } }
const withSmtp = (): object => ({
  emailAddress: 'a@example.com',
  server: { ipAddress: address, username: 'mail', password: secret() },
})
const withProfile = (): object => ({
  smtpServer: withSmtp(),
  snmpConfig: {
    isEnabled: true,
    users: [{ username: 'watch', authType: 'SHA', authKey: secret(), privType: 'AES', privKey: secret() }],
  },
  ntpServerConfigList: [
    { ntpServerAddress: address, encryptionAlgorithm: 'SHA256', encryptionKey: secret(), encryptionKeyId: 1 },
  ],
})
const withChap = (): object => ({
  enabledAuthentications: 'CHAP',
  iscsiFeatures: { enabledAuthentications: 'CHAP', targetSecret: secret() },
})
const aGroup = (): Promise<string> =>
  made('POST', groups, { name: name(), clusterReference: nativeCluster, ...withChap() })
/** A directory that does not answer: its account is stored without a check. */
async function aDirectory() {
  await app.world.collection('directory.hosts').put('mute.simulated', { fault: 'down' })
  const unique = name()
  const body = {
    name: unique,
    url: 'ldap://mute.simulated',
    domainName: `${unique}.test`,
    directoryType: 'ACTIVE_DIRECTORY',
    serviceAccount: { username: 'svc', password: secret() },
  }
  return { extId: await made('POST', directories, body), body }
}
async function aClient(): Promise<string> {
  const group = await aGroup()
  const body = {
    iscsiInitiatorName: `iqn.2026-03.example:${name()}`,
    enabledAuthentications: 'CHAP',
    clientSecret: secret(),
  }
  await made('POST', `${groups}/${group}/$actions/attach-iscsi-client`, body)
  return (await send('GET', `${groups}/${group}/external-iscsi-attachments`)).json.data[0].extId
}
async function aUser(): Promise<{ extId: string; username: string; password: string }> {
  const [username, password] = [name(), secret()]
  return { extId: await made('POST', users, { userType: 'LOCAL', username, password }), username, password }
}
const withImage = (): object => ({
  name: name(),
  type: 'ISO_IMAGE',
  source: {
    $objectType: 'vmm.v4.content.UrlSource',
    url: `https://images.example.com/${name()}.iso`,
    basicAuth: { username: 'reader', password: secret() },
  },
})
const withOva = (): object => {
  const basicAuth = { username: 'reader', password: secret() }
  return { name: name(), ...ofUrl(`https://images.example.com/${name()}.ova`, nativeCluster, { basicAuth }) }
}
/** The script holds the secret; so does its encoded text. */
function withScript(): object {
  const value = Buffer.from(`#cloud-config\npassword: ${secret()}\n`).toString('base64')
  secrets.add(value)
  const script = { $objectType: 'vmm.v4.ahv.config.Userdata', value }
  return {
    config: { $objectType: 'vmm.v4.ahv.config.CloudInit', datasourceType: 'CONFIG_DRIVE_V2', cloudInitScript: script },
  }
}
const withSettings = (): object => {
  const generalSettings = { administratorPassword: secret(), windowsProductKey: secret() }
  const credentials = { domainName: 'corp.example', username: 'joiner', password: secret() }
  const settings = { generalSettings, workgroupOrDomainInfo: of('DomainSettings', { credentials }) }
  return { name: name(), config: withParameters(settings) }
}
const vmBody = (): object => ({
  name: name(),
  memorySizeBytes: 1024 ** 3,
  cluster: { extId: nativeCluster },
  disks: [
    {
      backingInfo: {
        dataSource: {
          reference: {
            $objectType: 'vmm.v4.ahv.config.ImageReference',
            imageExtId: seedId('image/ubuntu-24.04.qcow2'),
          },
        },
      },
    },
  ],
  guestCustomization: withScript(),
})

/** @returns its path */
async function aTemplate(): Promise<string> {
  const source = fromVm(await made('POST', vms, vmBody()), { guestCustomization: withScript() })
  return `${templates}/${await made('POST', templates, { templateName: name(), templateVersionSpec: source })}`
}

const maintenanceOf = (what: 'enter' | 'exit'): string =>
  `/clustermgmt/v4.2/operations/clusters/${ids.native}/hosts/${hostId('hp-n01-a')}/$actions/${what}-host-maintenance`
const withVcenter = (): object => ({
  vcenterInfo: { address, credentials: { username: 'administrator', password: secret() } },
})

const snmpUsers = `${clustermgmt}/clusters/${ids.native}/snmp/users`
const withKeys = (): object => ({ authType: 'SHA', authKey: secret(), privType: 'AES', privKey: secret() })

/** One for each operation whose body may hold a secret. */
const stories: Readonly<Record<string, () => Promise<unknown>>> = {
  'clustermgmt.changeSystemUserPasswordById': async () => {
    const passwords = '/clustermgmt/v4.2/config/system-user-passwords'
    const { extId } = (await send('GET', `${passwords}?$filter=systemType eq 'AHV'`.replaceAll(' ', '%20'))).json
      .data[0]
    const path = `${passwords}/${extId}/$actions/change-password`
    const newPassword = secret()
    await made('POST', path, { newPassword })
    await send('POST', path, { currentPassword: secret(), newPassword: secret() })
    await send('POST', path, { currentPassword: newPassword, newPassword: 'short' })
  },
  ...Object.fromEntries(
    (['unregister', 'register'] as const).map((verb) => [
      `clustermgmt.${verb}VcenterExtension`,
      async () => {
        const path = `/clustermgmt/v4.2/config/vcenter-extensions/${vcenterExtensionId(ids.extern)}/$actions/${verb}`
        secrets.add(vcenterLogin.password)
        await send('POST', path, { username: 'administrator', password: secret() })
        await made('POST', path, vcenterLogin)
      },
    ]),
  ),
  'clustermgmt.createCluster': () =>
    made('POST', `${clustermgmt}/clusters`, {
      name: name(),
      nodes: { nodeList: [{ controllerVmIp: { ipv4: { value: '10.44.1.63' } } }] },
      config: { clusterFunction: ['ONE_NODE'] },
      network: { smtpServer: withSmtp() },
    }),
  'clustermgmt.expandCluster': async () => {
    const configParams = { hyperv: { domainDetails: { username: 'joiner', password: secret() } } }
    const nodeList = [{ cvmIp: { ipv4: { value: '10.44.1.61' } } }]
    await send('POST', `${clustermgmt}/clusters/${ids.native}/$actions/expand-cluster`, {
      ...{ configParams, nodeParams: { nodeList }, shouldSkipAddNode: true },
    })
  },
  'clustermgmt.createClusterProfile': () => made('POST', profiles, { name: name(), ...withProfile() }),
  'clustermgmt.createSnmpUser': () => made('POST', snmpUsers, { username: name(), ...withKeys() }),
  'clustermgmt.enterHostMaintenance': () => made('POST', maintenanceOf('enter'), withVcenter()),
  'clustermgmt.exitHostMaintenance': () => made('POST', maintenanceOf('exit'), withVcenter()),
  'clustermgmt.updateBmcInfo': () => {
    const path = `${clustermgmt}/clusters/${ids.native}/hosts/${hostId('hp-n01-a')}/bmc-info`
    return made('PUT', path, { credential: { username: 'operator', password: secret() } }, { tagOf: path })
  },
  'clustermgmt.updateClusterById': () => {
    const path = `${clustermgmt}/clusters/${ids.native}`
    const network = {
      smtpServer: withSmtp(),
      httpProxyList: [
        { name: 'proxy', ipAddress: address, port: 3128, username: 'proxy', password: secret(), proxyTypes: ['HTTP'] },
      ],
      ntpServerConfigList: [
        { ntpServerAddress: address, encryptionAlgorithm: 'SHA256', encryptionKey: secret(), encryptionKeyId: 1 },
      ],
    }
    return made('PUT', path, { network }, { tagOf: path })
  },
  'clustermgmt.updateSnmpUserById': async () => {
    const username = name()
    const path = `${snmpUsers}/${await made('POST', snmpUsers, { username, ...withKeys() })}`
    await made('PUT', path, { username, ...withKeys() }, { tagOf: path })
  },
  'clustermgmt.updateClusterProfileById': async () => {
    const path = `${profiles}/${await made('POST', profiles, { name: name() })}`
    await made('PUT', path, withProfile(), { tagOf: path })
    await made('POST', `${path}/$actions/apply`, { clusters: [{ uuid: ids.native }] })
    await made('POST', `${path}/$actions/apply?$dryrun=true`, { clusters: [{ uuid: ids.native }] })
  },
  'clustermgmt.updateSSLCertificate': async () => {
    const path = `${clustermgmt}/clusters/${ids.native}/ssl-certificate`
    const { pem, key } = await issue()
    const passphrase = secret()
    const locked = createPrivateKey(key).export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase })
    for (const line of `${key}\n${locked}`.split('\n')) if (/^[A-Za-z0-9+/]{40,}$/.test(line)) secrets.add(line)
    const body = { publicCertificate: pem, privateKey: String(locked), privateKeyAlgorithm: 'ECDSA_256' }
    assert.equal((await send('PUT', path, { ...body, passphrase: 'wrong' }, { tagOf: path })).status, 400)
    await made('PUT', path, { ...body, passphrase }, { tagOf: path })
    await send('GET', path)
  },
  'iam.changeUserPassword': async () => {
    const { username, password } = await aUser()
    const body = { username, oldPassword: password, newPassword: secret() }
    await made('POST', `${users}/$actions/change-password`, body, { as: `${username}:${password}` })
  },
  'iam.createDirectoryService': async () => {
    const { extId } = await aDirectory()
    const path = `${directories}/${extId}/$actions/verify-connection-status`
    await send('POST', path, { username: 'somebody', password: secret() })
  },
  'iam.createUser': () => aUser(),
  'iam.createUserKey': async () => {
    const user = await made('POST', users, { userType: 'SERVICE_ACCOUNT', username: name() })
    for (const keyType of ['API_KEY', 'OBJECT_KEY']) {
      const answer = await send('POST', `${users}/${user}/keys`, { name: keyType, keyType })
      assert.equal(answer.status, 201, answer.text)
      // The answer to the creation is the only one with the secret.
      answers.pop()
      const { apiKey, secretKey } = answer.json.data.keyDetails
      secrets.add(apiKey ?? secretKey)
      await send('GET', `${users}/${user}/keys`)
      await send('GET', `${users}/${user}/keys/${answer.json.data.extId}`)
    }
  },
  'iam.resetUserPassword': async () => {
    const { extId } = await aUser()
    await made('POST', `${users}/${extId}/$actions/reset-password`, { newPassword: secret() })
  },
  'iam.updateDirectoryServiceById': async () => {
    const { extId, body } = await aDirectory()
    const changed = { ...body, serviceAccount: { username: 'svc', password: secret() } }
    await made('PUT', `${directories}/${extId}`, changed, { tagOf: `${directories}/${extId}` })
  },
  'iam.updateUserById': async () => {
    const { extId, username, password } = await aUser()
    await send(
      'PUT',
      `${users}/${extId}`,
      { userType: 'LOCAL', username, password, firstName: 'Some' },
      { tagOf: `${users}/${extId}` },
    )
  },
  'networking.createBgpSession': async () => {
    const { path, body, prepare } = creations['networking.createBgpSession']!
    await prepare!(app)
    await made('POST', path, { ...body(name()), password: secret() })
  },
  'networking.updateBgpSessionById': async () => {
    const { path, body, prepare } = creations['networking.createBgpSession']!
    await prepare!(app)
    const session = body(name())
    const own = `${path}/${await made('POST', path, session)}`
    await made('PUT', own, { ...session, password: secret() }, { tagOf: own })
  },
  'networking.createGateway': async () => {
    await made('POST', gateways, { name: name(), ...vpnServices(true) })
    await made('POST', gateways, { name: name(), ...localVpnServices() })
  },
  'networking.updateGatewayById': async () => {
    const own = `${gateways}/${await made('POST', gateways, { name: name(), ...vpnServices() })}`
    await made('PUT', own, { name: name(), ...vpnServices(true) }, { tagOf: own })
    const local = `${gateways}/${await made('POST', gateways, { name: name(), ...localVpnServices() })}`
    await made('PUT', local, { name: name(), ...localVpnServices() }, { tagOf: local })
  },
  'networking.createVpnConnection': async () => {
    const { path, body, prepare } = creations['networking.createVpnConnection']!
    await prepare!(app)
    await made('POST', path, { ...body(name()), ipsecConfig: { preSharedKey: secret() } })
  },
  'networking.updateVpnConnectionById': async () => {
    const { path, body, prepare } = creations['networking.createVpnConnection']!
    await prepare!(app)
    const connection = body(name())
    const own = `${path}/${await made('POST', path, connection)}`
    await made('PUT', own, { ...connection, ipsecConfig: { preSharedKey: secret() } }, { tagOf: own })
  },
  'platform.createBackupTarget': async () => {
    await made('POST', targets, { location: withPolicy(await aBucketLocation()) })
  },
  'platform.createDomainManager': async () => {
    const { path, body } = creations['platform.createDomainManager']!
    const { config, network } = body(name()) as any
    const credentials = [{ username: 'admin', password: secret() }]
    const userdata = { $objectType: 'vmm.v4.ahv.config.Userdata', value: secret() }
    const bootstrapConfig = { cloudInitConfig: [{ cloudInitScript: userdata }] }
    const httpProxyConfig = [{ name: 'proxy', ipAddress: address, username: 'proxy', password: secret() }]
    const given = { config: { ...config, credentials, bootstrapConfig }, network: { ...network, httpProxyConfig } }
    await made('POST', path, given)
  },
  'platform.createRestoreSource': async () => {
    await made('POST', sources, { location: await aBucketLocation() })
  },
  'platform.register': async () => {
    const extId = seedId(`cluster/${lab.name}`)
    const sides = remoteSides(app.world)
    const password = secret()
    await sides.put(extId, { ...sides.get(extId)!, passwordDigest: remotePasswordDigest(extId, password) })
    const manager = `/platform/v4.3/config/domain-managers/${seedId('manager')}`
    // The first is refused by the remote side, the second is not.
    for (const sent of [secret(), password]) {
      const body = registerBody(lab.address, { password: sent })
      await send('POST', `${ownPath}/$actions/register`, body, { tagOf: manager })
    }
    assert.equal((await http(url, `/api/clustermgmt/v4.2/config/clusters/${extId}`)).status, 200)
  },
  // A demo is not fresh: what was sent is refused, and kept nowhere. What a restore keeps is in its own test.
  'platform.restore': async () => {
    const source = await made('POST', sources, { location: onCluster(nativeCluster) })
    const points = `${sources}/${source}/restorable-domain-managers/${seedId('manager')}/restore-points`
    const [point] = (await http(url, `/api${points}`)).json.data
    const { config, network } = creations['platform.createDomainManager']!.body(name()) as any
    const credentials = [{ username: 'admin', password: secret() }]
    const domainManager = { config: { ...config, credentials }, network }
    const refused = await send('POST', `${points}/${point.extId}/$actions/restore`, { domainManager })
    assert.equal(refused.status, 409, refused.text)
  },
  // One target in an object store at most: that of the creation.
  'platform.updateBackupTargetById': async () => {
    const path = `${targets}/${(await bucketTarget(app)).extId}`
    await made('PUT', path, { location: withPolicy(await aBucketLocation()) }, { tagOf: path })
  },
  'storage.updateIscsiClientById': async () => {
    const path = `/storage/v4.0.a3/config/iscsi-clients/${await aClient()}`
    await made('PATCH', path, { clientSecret: secret() })
  },
  'vmm.cloneVm': async () => {
    const path = `${vms}/${await made('POST', vms, vmBody())}`
    await made('POST', `${path}/$actions/clone`, { guestCustomization: withScript() }, { tagOf: path })
    const parametersOfProfile = await made('POST', customizationProfiles, withSettings())
    const credentials = { password: secret() }
    const generalSettings = {
      administratorPassword: of('AdministratorPassword', { value: secret() }),
      windowsProductKey: of('WindowsProductKey', { value: secret() }),
    }
    const workgroupOrDomainInfo = of('DomainSettingsOverrideSpec', { credentials })
    const override = parameters({ generalSettings, workgroupOrDomainInfo })
    const named = { name: 'secretive', ...cloneWithProfile(parametersOfProfile, override) }
    await made('POST', `${path}/$actions/clone`, named, { tagOf: path })
    const answers = await made('POST', customizationProfiles, { name: name(), config: answerFile('<unattend/>') })
    const file = of('AnswerFileOverrideSpec', { unattendXml: `<unattend>${secret()}</unattend>` })
    await made(
      'POST',
      `${path}/$actions/clone`,
      { name: 'secretive', ...cloneWithProfile(answers, file) },
      { tagOf: path },
    )
  },
  'vmm.createVmGuestCustomizationProfile': () => made('POST', customizationProfiles, withSettings()),
  'vmm.updateVmGuestCustomizationProfileById': async () => {
    const path = `${customizationProfiles}/${await made('POST', customizationProfiles, withSettings())}`
    await made('PUT', path, withSettings(), { tagOf: path })
  },
  'vmm.customizeGuestVm': async () => {
    const path = `${vms}/${await made('POST', vms, vmBody())}`
    await made('POST', `${path}/$actions/customize-guest`, withScript(), { tagOf: path })
  },
  'vmm.createImage': () => made('POST', images, withImage()),
  'vmm.extern.installNutanixGuestTools': () => {
    const path = `/vmm/v4.2/extern/config/vms/${seedId('extern-vm/legacy-erp')}`
    const credential = { username: 'root', password: secret() }
    return made('POST', `${path}/nutanix-guest-tools/$actions/install`, { credential }, { tagOf: path })
  },
  'vmm.installVmGuestTools': () => {
    const path = `${vms}/${seedId('vm/web-01')}`
    const credential = { username: 'root', password: secret() }
    return made('POST', `${path}/guest-tools/$actions/install`, { credential }, { tagOf: path })
  },
  'vmm.createOva': () => made('POST', ovas, withOva()),
  'vmm.createTemplate': async () => {
    const path = await aTemplate()
    const overrideVmConfigMap = { 0: { guestCustomization: withScript() } }
    await made('POST', `${path}/$actions/deploy`, { clusterReference: nativeCluster, overrideVmConfigMap })
  },
  'vmm.createVm': async () => {
    await made('POST', vms, vmBody())
    isFailing = true
    const failed = await send('POST', vms, vmBody())
    isFailing = false
    assert.equal((await app.task(taskOf(failed))).status, 'FAILED')
  },
  'vmm.updateImageById': async () => {
    const body = withImage()
    const path = `${images}/${await made('POST', images, body)}`
    await made('PUT', path, { ...body, description: 'changed' }, { tagOf: path })
  },
  'vmm.updateOvaById': async () => {
    const path = `${ovas}/${await made('POST', ovas, withOva())}`
    await made('PUT', path, { ...withOva(), name: 'renamed' }, { tagOf: path })
  },
  'vmm.updateTemplateById': async () => {
    const path = await aTemplate()
    const named = { versionName: 'second', versionDescription: 'patched' }
    const { templateVersionSpec } = (await send('GET', path)).json.data
    const overrideVmConfig = { guestCustomization: withScript() }
    const sources = [
      fromVm(await made('POST', vms, vmBody()), { guestCustomization: withScript() }),
      fromVersion(templateVersionSpec.extId, overrideVmConfig),
    ]
    for (const source of sources)
      await made('PUT', path, { templateVersionSpec: { ...named, ...source } }, { tagOf: path })
    await made('POST', `${path}/$actions/deploy`, { clusterReference: nativeCluster })
  },
  'vmm.updateVmById': async () => {
    const path = `${vms}/${await made('POST', vms, vmBody())}`
    const { links: _, ...stored } = (await send('GET', path)).json.data
    await made('PUT', path, { ...stored, guestCustomization: withScript() }, { tagOf: path })
    await made('POST', `${path}/$actions/power-on`, undefined, { tagOf: path })
  },
  'volumes.attachIscsiClient': () => aClient(),
  'volumes.createVolumeGroup': () => aGroup(),
  'volumes.updateIscsiClientById': async () => {
    const path = `${clients}/${await aClient()}`
    await made('PUT', path, { enabledAuthentications: 'CHAP', clientSecret: secret() }, { tagOf: path })
  },
  'volumes.updateVolumeGroupById': async () => {
    const path = `${groups}/${await aGroup()}`
    await made('PUT', path, withChap(), { tagOf: path })
  },
}

/** The same bucket with a new secret, which the simulated service knows from now on. */
async function aBucketLocation(): Promise<object> {
  const secretAccessKey = secret()
  await app.world
    .collection('objectStore.buckets')
    .put('secretive', { service: 'demo', keys: { SECRETIVEKEY0001: digestOf(secretAccessKey) } })
  return {
    $objectType: 'platform.v4.management.ObjectStoreLocation',
    providerConfig: {
      $objectType: 'platform.v4.management.GenericS3Config',
      bucketName: 'secretive',
      connectionConfig: { ipAddressOrHostname: { ipv4: { value: '10.44.1.50' } } },
      credentials: { accessKeyId: 'SECRETIVEKEY0001', secretAccessKey },
    },
  }
}
const withPolicy = (location: object): object => ({ ...location, backupPolicy: { rpoInMinutes: 60 } })

test('37 every operation that takes a secret has a story', () => {
  const holdsSecret = (schema: AnySchema): boolean =>
    schema.secret === true ||
    (schema.type === 'object' && Object.values(schema.fields).some(holdsSecret)) ||
    (schema.type === 'list' && holdsSecret(schema.items)) ||
    (schema.type === 'oneOf' && schema.alternatives.some(holdsSecret))
  const operations = contract
    .flatMap((namespace) => namespace.operations)
    .filter(({ body, mutates }) => mutates && body !== undefined && holdsSecret(body))
  assert.deepEqual(Object.keys(stories).sort(), operations.map(({ key }) => key).sort())
})

test('37 after creating every kind that has secrets no answer, log line, audit record, task or database text contains any of them', async () => {
  for (const [operation, story] of Object.entries(stories)) {
    const before = secrets.size
    await story()
    assert.ok(secrets.size > before, `${operation} sent no secret`)
  }
  // The access key of the object store is sent to that store alone.
  objects.objects.set('vmm-images/there.iso', Buffer.from('content'))
  const stored = (key: string): object => ({
    name: name(),
    type: 'ISO_IMAGE',
    source: { $objectType: 'vmm.v4.content.ObjectsLiteSource', key },
  })
  await made('POST', images, stored('there.iso'))
  await send('POST', images, stored('missing.iso'))
  // The same through a batch, of which some fail, and with a body that is refused.
  const payload = [
    { data: { userType: 'LOCAL', username: name(), password: secret() } },
    { data: { userType: 'LOCAL', password: secret() } },
  ]
  await send('POST', '/platform/v4.3/operations/$actions/batch', {
    metadata: { action: 'CREATE', name: 'secretive', uri: '/api/iam/v4.1.b2/authn/users' },
    payload,
  })
  await send('POST', users, { userType: 'LOCAL', username: name(), password: secret(), unknown: secret() })
  await send('GET', '/platform/v4.3/config/categories', undefined, { as: `admin:${secret()}` })

  for (const { verb, path, namespace, versions } of contract.flatMap((each) => each.operations)) {
    if (verb !== 'list' || path.includes('{')) continue
    for (const profile of ['SVC-Request-Id', 'NTNX-Request-Id']) {
      const answer = await http(url, `/api/${namespace}/${versions[0]}${path}?$limit=100`, {
        headers: { [profile]: randomUUID() },
      })
      answers.push(answer.text)
      for (const { extId } of answer.json?.data?.length === undefined ? [] : answer.json.data) {
        if (extId !== undefined)
          answers.push((await http(url, `/api/${namespace}/${versions[0]}${path}/${extId}`)).text)
      }
    }
  }

  assert.ok(
    log.some((line) => line.includes('unexpected')),
    'the log was listened to',
  )
  search('an answer', answers)
  search('the log', log)
  // The recorded calls are written on request.
  answers.push((await http(url, '/control/v1/worlds/default/journal/export')).text)
  const files = readdirSync(app.folder, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && entry.name !== 'lock',
  )
  assert.ok(files.some(({ name: file }) => file === 'world.sqlite'))
  assert.ok(files.some(({ name: file }) => file === 'found.sqlite'))
  // Byte by byte: tasks, audit trail, remembered answers and the facts of the world are all in these files.
  const everything = files.map((file) => readFileSync(join(file.parentPath, file.name)).toString('latin1'))
  assert.ok(
    everything.some((text) => text.includes('SECRETIVEKEY0001')),
    'what is no secret is found there',
  )
  for (const file of files) search(file.name, [readFileSync(join(file.parentPath, file.name)).toString('latin1')])
})

function search(where: string, texts: readonly string[]): void {
  const forms = [...secrets].flatMap((plain) => [
    plain,
    Buffer.from(plain).toString('base64').replace(/=+$/, ''),
    encodeURIComponent(plain),
    Buffer.from(plain).toString('hex'),
  ])
  // One pass for all: the files of the world are large.
  const any = new RegExp(forms.map((form) => form.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|'))
  assert.ok(forms.every((form) => any.test(form)))
  for (const text of texts) {
    const at = any.exec(text)?.index ?? -1
    assert.ok(at < 0, `${where} contains a secret: ${text.slice(Math.max(0, at - 300), at + 60)}`)
  }
}
