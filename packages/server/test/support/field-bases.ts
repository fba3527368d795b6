/** Requests to which `field-outcomes.ts` adds fields, and values for fields whose rules the contract does not express. */

import { randomUUID } from 'node:crypto'
import type { Operation } from '@hyperplane/contract'
import { catalogueId, seedId } from '../../src/core/ids/named-id.ts'
import { systemRoleId } from '../../src/domains/iam/catalogue/system-roles.ts'
import { issue, providerForm } from './authorities.ts'
import { bucketTarget, inBucket, onCluster, targets } from './backups.ts'
import { ids as clusterIds, clustermgmt, hostId } from './clustermgmt.ts'
import { creations, nativeCluster } from './creations.ts'
import { antiAffinityPolicies, policyBody } from './policies.ts'
import { ownPath, registerBody } from './registering.ts'
import { adminPassword, type TestApp } from './start-app.ts'
import { ipConfigOf, subnets } from './subnets.ts'
import { act, aDisk, aGroup, aVm, chap, clients, groups, onContainer, succeeded } from './volumes.ts'
import { attachedTo, floatingIps, prefix, routingPolicies, vpcs } from './vpcs.ts'

/** A request that succeeds unchanged. Without `body`, an update sends the entity as it was read. */
export type Base = (app: TestApp) => Promise<{
  readonly path?: string
  /** Path of the entity whose tag is sent, if not that of the request; a creation sends a tag only if this is given. */
  readonly readPath?: string
  readonly body?: any
  readonly clusterId?: string
  /** `name:password` of the caller; default: the administrator. */
  readonly as?: string
}>

const named = (prefix = 'field'): string => `${prefix}-${randomUUID().slice(0, 8)}`
const iqn = (): string => `iqn.2026-01.io.example:${named()}`
const GiB = 1024 ** 3
const users = '/iam/v4.1.b2/authn/users'
const vms = '/vmm/v4.2/ahv/config/vms'
const older = '/storage/v4.0.a3/config'
const password = 'Correct.Horse7'
const operationId = (name: string): string => catalogueId('operation', name)

/** Creates an entity. @returns its path */
async function made(app: TestApp, collection: string, body: object, clusterId?: string): Promise<string> {
  const answer = await app.call('POST', collection, {
    body,
    requestId: randomUUID(),
    ...(clusterId === undefined ? {} : { clusterId }),
  })
  if (answer.status === 201) return `${collection}/${answer.data.extId}`
  const task = await app.task(answer)
  if (task.status !== 'SUCCEEDED') throw new Error(JSON.stringify(task.errorMessages))
  return `${collection}/${task.entitiesAffected[0].extId}`
}
async function deleted(app: TestApp, path: string): Promise<void> {
  const { etag } = await app.call('GET', path)
  const headers = { requestId: randomUUID(), ...(etag === undefined ? {} : { ifMatch: etag }) }
  const task = await app.task(await app.call('DELETE', path, headers))
  if (task.status !== 'SUCCEEDED') throw new Error(JSON.stringify(task.errorMessages))
}
const remembered = new WeakMap<TestApp, Map<string, Promise<string>>>()
/** Runs `make` once per world. */
function once(app: TestApp, name: string, make: () => Promise<string>): Promise<string> {
  const own = remembered.get(app) ?? new Map()
  remembered.set(app, own)
  if (!own.has(name)) own.set(name, make())
  return own.get(name)
}
/** Creates with this body. */
const creating =
  (collection: string, body: () => object | Promise<object>, clusterId?: string, readPath?: string): Base =>
  async () => ({
    path: collection,
    body: await body(),
    ...(clusterId === undefined ? {} : { clusterId }),
    ...(readPath === undefined ? {} : { readPath }),
  })
/** Updates one entity that is created with this body; each update sends the body with the fields. */
const updating =
  (collection: string, body: () => object, clusterId?: string): Base =>
  async (app) => {
    const path = await once(app, `${collection} ${body.name} ${Object.keys(body())}`, () =>
      made(app, collection, body(), clusterId),
    )
    return { path }
  }
const at =
  (path: string, body?: object): Base =>
  async () => ({ path, ...(body === undefined ? {} : { body }) })

let host = 200
let guest = 0
const onNat = { externalSubnetReference: seedId('subnet/ext-nat') }
const floating = (more: object) => ({ name: named(), externalSubnetReference: seedId('subnet/transit-ext'), ...more })
const toPrivate = () => ({
  $objectType: 'networking.v4.config.PrivateIpAssociation',
  privateIp: address(`172.16.${++guest}.9`),
  vpcReference: seedId('vpc/tenant-a'),
})
async function toNic(app: TestApp, vm: string) {
  const [{ extId, networkInfo }] = (await app.call('GET', `${vms}/${seedId(`vm/${vm}`)}`)).data.nics
  const privateIp = { ipv4: networkInfo.ipv4Config.ipAddress }
  return { $objectType: 'networking.v4.config.VmNicAssociation', vmNicReference: extId, privateIp }
}

let priority = 200
const policy = (match: object, action: object = { actionType: 'PERMIT' }) => ({
  name: named(),
  priority: 10 + (++priority % 990),
  vpcExtId: seedId('vpc/prod'),
  policies: [
    {
      policyMatch: {
        source: { addressType: 'ANY' },
        destination: { addressType: 'ANY' },
        protocolType: 'ANY',
        ...match,
      },
      policyAction: action,
    },
  ],
})
const parameters = (name: string, fields: object = {}): object => ({
  protocolParameters: { $objectType: `networking.v4.config.${name}`, ...fields },
})
const side = { addressType: 'SUBNET', subnetPrefix: prefix('10.77.0.0/16') }
const address = (value: string): object => ({ ipv4: { value } })
const policies: readonly (() => object)[] = [
  () => policy({ source: side, destination: side }),
  () => policy({ protocolType: 'ICMP', ...parameters('ICMPObject') }),
  () => policy({ protocolType: 'TCP', ...parameters('LayerFourProtocolObject') }),
  () => policy({ protocolType: 'PROTOCOL_NUMBER', ...parameters('ProtocolNumberObject', { protocolNumber: 47 }) }),
  () => policy({}, { actionType: 'FORWARD', nexthopIpAddress: address('10.50.0.9') }),
  () => policy({}, { actionType: 'REROUTE', rerouteParams: [{ serviceIp: address('10.50.0.9') }] }),
  () =>
    policy(
      {},
      {
        actionType: 'REROUTE',
        rerouteParams: [{ ingressServiceIp: address('10.50.0.9'), egressServiceIp: address('10.50.0.10') }],
      },
    ),
]
let vlan = 2000
const vlanSubnet = () => ({
  name: named(),
  subnetType: 'VLAN',
  networkId: ++vlan,
  clusterReference: nativeCluster,
  ipConfig: ipConfigOf({ ipv4: '10.77.0.0/16', pools: [['10.77.0.100', '10.77.0.120']] }),
})
const externalSubnet = () => ({
  ...vlanSubnet(),
  isExternal: true,
  isNatEnabled: false,
  ipConfig: ipConfigOf({ ipv4: `172.20.${++vlan % 250}.0/24` }),
})
const sixSubnet = () => ({
  ...vlanSubnet(),
  ipConfig: ipConfigOf({ ipv4: '10.77.0.0/16', ipv6: 'fd00::/64', pools6: [['fd00::100', 'fd00::120']] }),
})
const relayedSubnet = () => ({
  name: named(),
  subnetType: 'VLAN',
  networkId: ++vlan,
  isAdvancedNetworking: true,
  ipConfig: ipConfigOf({ ipv4: '10.77.0.0/16' }),
  externalDhcpServers: [{ externalDhcpServerIpAddress: address('10.77.0.5') }],
})
const overlaySubnet = () => ({
  name: named(),
  subnetType: 'OVERLAY',
  vpcReference: seedId('vpc/prod'),
  ipConfig: ipConfigOf({ ipv4: `10.${60 + (++vlan % 180)}.7.0/24` }),
})
/** A subnet of its own, of which an unreserving request finds some addresses reserved. */
const reserving =
  (verb: 'reserve' | 'unreserve', body: object): Base =>
  async (app) => {
    const subnet = await made(app, subnets, vlanSubnet())
    const reserved = { reserveType: 'IP_ADDRESS_RANGE', startIpAddress: address('10.77.0.101'), count: 2 }
    const actions = `${subnet}/addresses/$actions`
    if (verb === 'unreserve')
      await app.task(await app.call('POST', `${actions}/reserve`, { body: { ...reserved, clientContext: 'some' } }))
    return { path: `${actions}/${verb}`, readPath: subnet, body }
  }
const vm = (more: object = {}) => ({ name: named(), memorySizeBytes: GiB, cluster: { extId: nativeCluster }, ...more })
async function aSerialPort(app: TestApp): Promise<string> {
  const path = await made(app, vms, vm({ serialPorts: [{}] }))
  return `${path}/serial-ports/${(await app.call('GET', path)).data.serialPorts[0].extId}`
}
const uefi = { bootConfig: { $objectType: 'vmm.v4.ahv.config.UefiBoot' }, machineType: 'Q35' }
const bootAddress = { diskAddress: { busType: 'SCSI', index: 1 } }
const withDisk = {
  disks: [{ backingInfo: { $objectType: 'vmm.v4.ahv.config.VmDisk', diskSizeBytes: GiB }, ...bootAddress }],
}
const mac = { macAddress: '50:6b:8d:00:00:99' }
const withMac = {
  nics: [{ networkInfo: { subnet: { extId: seedId('subnet/vlan-100-app') } }, backingInfo: mac }],
}
const bootedFrom = (firmware: string, device: string, fields: object): object => ({
  $objectType: `vmm.v4.ahv.config.${firmware}`,
  bootDevice: { $objectType: `vmm.v4.ahv.config.${device}`, ...fields },
})
const image = () => creations['vmm.createImage']!.body(named())
const local = (more: object = {}) => ({ userType: 'LOCAL', username: named(), password, ...more })
const directory = () => {
  const name = named('dir')
  return {
    name,
    url: `ldap://${name}.simulated`,
    domainName: `${name}.test`,
    directoryType: 'OPEN_LDAP',
    serviceAccount: { username: 'svc', password: adminPassword },
    openLdapConfiguration: {
      userConfiguration: {
        userObjectClass: 'inetOrgPerson',
        userSearchBase: `ou=people,dc=${name},dc=test`,
        usernameAttribute: 'uid',
      },
      userGroupConfiguration: {
        groupObjectClass: 'groupOfNames',
        groupSearchBase: `ou=groups,dc=${name},dc=test`,
        groupMemberAttribute: 'member',
        groupMemberAttributeValue: 'dn',
      },
    },
  }
}
const role = () => ({ displayName: named(), operations: [operationId('View_Image')] })
const authorization = () => ({
  displayName: named(),
  role: systemRoleId('Platform Viewer'),
  identities: [{ identityFilter: { user: { uuid: { anyof: [randomUUID()] } } } }],
  entities: [{ entityFilter: { '*': { '*': { eq: '*' } } } }],
})
let provider: Promise<string> | undefined
const certificate = (): Promise<string> => {
  provider ??= issue({ name: 'CN=idp.example.com' }).then(({ pem }) => pem)
  return provider
}
const samlProvider = async () => ({
  name: named(),
  idpMetadata: {
    entityId: `https://idp.example.com/${randomUUID()}`,
    loginUrl: 'https://idp.example.com/sso',
    certificate: await certificate(),
  },
})
const formFields = { caCertFileName: 'ca.pem', isCertAuthEnabled: true, isCacEnabled: false }
const certificateProvider = async () => {
  const { pem } = await issue({ name: `CN=${named()}`, isAuthority: true })
  return { name: named(), clientCaChain: pem }
}
const category = () => ({ key: named('key'), value: named('value') })
const iscsiAttachment = async (app: TestApp) => {
  const group = await aGroup(app)
  const task = await succeeded(app, act(app, group.extId, 'attach-iscsi-client', { iscsiInitiatorName: iqn() }))
  return { group, client: task.entitiesAffected[0].extId }
}
const aDiskPath = async (app: TestApp): Promise<string> => {
  const group = await aGroup(app)
  return `${groups}/${group.extId}/disks/${(await aDisk(app, group.extId)).extId}`
}
const onGroup =
  (action: string, body: (app: TestApp) => object | Promise<object>): Base =>
  async (app) => {
    const own = await aGroup(app)
    return { path: `${groups}/${own.extId}/$actions/${action}`, body: await body(app) }
  }
const notInherited =
  (collection: string): Base =>
  async (app) => ({
    path: await once(app, collection, () => made(app, collection, { name: named() }, nativeCluster)),
    body: { name: named(), isNfsWhitelistInherited: false },
  })
const categoriesOf = (): object => ({ categories: [{ extId: seedId('category/Environment/Production') }] })

/** A new container of the ESX cluster, which `unmount` finds mounted. */
const mounting =
  (interfacePath: string, verb: 'mount' | 'unmount', more: object): Base =>
  async (app) => {
    const containerName = named()
    const container = await made(app, `${clustermgmt}/storage-containers`, { name: containerName }, clusterIds.extern)
    const whole = { containerName, datastoreName: containerName }
    if (verb === 'unmount')
      await app.task(await app.call('POST', `${container}/$actions/mount`, { body: whole, requestId: randomUUID() }))
    return {
      path: `${container.replace(clustermgmt, interfacePath)}/$actions/${verb}`,
      readPath: container,
      body: verb === 'mount' ? { ...whole, ...more } : { datastoreName: containerName },
    }
  }

const bases: Readonly<Record<string, readonly Base[]>> = {
  'clustermgmt.associateCategoriesToCluster': [
    async (app) => ({
      path: `${clustermgmt}/clusters/${clusterIds.native}/$actions/associate-categories`,
      body: { categories: [(await made(app, '/platform/v4.3/config/categories', category())).slice(-36)] },
    }),
  ],
  'clustermgmt.mountStorageContainer': [mounting(clustermgmt, 'mount', { isReadOnly: true })],
  'clustermgmt.unmountStorageContainer': [mounting(clustermgmt, 'unmount', {})],
  'storage.addDataStoreForCluster': [mounting(older, 'mount', { readOnly: true })],
  'storage.deleteDataStoreForCluster': [mounting(older, 'unmount', {})],
  'clustermgmt.applyClusterProfile': [
    async (app) => ({
      path: `${await once(app, 'profile', () => made(app, `${clustermgmt}/cluster-profiles`, { name: named() }))}/$actions/apply`,
      body: { clusters: [{ uuid: clusterIds.native, name: 'hp-native-01' }] },
    }),
  ],
  'clustermgmt.disassociateCategoriesFromCluster': [
    async (app) => {
      const categories = [(await made(app, '/platform/v4.3/config/categories', category())).slice(-36)]
      const cluster = `${clustermgmt}/clusters/${clusterIds.native}`
      const body = { categories }
      await app.task(
        await app.call('POST', `${cluster}/$actions/associate-categories`, { body, requestId: randomUUID() }),
      )
      return { path: `${cluster}/$actions/disassociate-categories`, body }
    },
  ],
  'clustermgmt.disassociateClusterFromClusterProfile': [
    async () => ({
      path: `${clustermgmt}/cluster-profiles/${clusterIds.baseline}/$actions/disassociate-cluster`,
      body: { clusters: [{ uuid: clusterIds.extern, name: 'hp-extern-01' }] },
    }),
  ],
  'clustermgmt.updateBmcInfo': [
    at(`${clustermgmt}/clusters/${clusterIds.native}/hosts/${hostId('hp-n01-a')}/bmc-info`),
  ],
  'clustermgmt.updateClusterById': [at(`${clustermgmt}/clusters/${clusterIds.native}`, {})],
  'clustermgmt.updateClusterProfileById': [updating(`${clustermgmt}/cluster-profiles`, () => ({ name: named() }))],
  'clustermgmt.createStorageContainer': [
    creating(
      `${clustermgmt}/storage-containers`,
      () => ({ name: named(), clusterExtId: nativeCluster }),
      nativeCluster,
    ),
    creating(
      `${clustermgmt}/storage-containers`,
      () => ({ name: named(), replicationFactor: 1, affinityHostExtId: hostId('hp-n01-a') }),
      nativeCluster,
    ),
  ],
  'storage.addStorageContainerForCluster': [
    creating(`${older}/storage-containers`, () => ({ name: named(), clusterExtId: nativeCluster }), nativeCluster),
    creating(
      `${older}/storage-containers`,
      () => ({ name: named(), replicationFactor: 1, affinityHostUuid: hostId('hp-n01-a') }),
      nativeCluster,
    ),
  ],
  'clustermgmt.updateStorageContainerById': [
    updating(`${clustermgmt}/storage-containers`, () => ({ name: named() }), nativeCluster),
    notInherited(`${clustermgmt}/storage-containers`),
  ],
  'iam.changeUserPassword': [
    async (app) => {
      const username = named()
      await made(app, users, local({ username }))
      return {
        path: `${users}/$actions/change-password`,
        body: { username, oldPassword: password, newPassword: 'Another.Horse8' },
        as: `${username}:${password}`,
      }
    },
  ],
  'iam.createAuthorizationPolicy': [creating('/iam/v4.1.b2/authz/authorization-policies', authorization)],
  'iam.createCertAuthProvider': [
    creating('/iam/v4.1.b2/authn/cert-auth-providers', async () => ({
      ...formFields,
      ...(await certificateProvider()),
    })),
  ],
  'iam.updateCertAuthProviderById': [
    async (app) => {
      const collection = '/iam/v4.1.b2/authn/cert-auth-providers'
      const path = await once(app, collection, async () => {
        const created = await app.call('POST', collection, { form: providerForm(await certificateProvider()) })
        return `${collection}/${created.data.extId}`
      })
      return { path, body: { ...formFields, ...(await certificateProvider()) } }
    },
  ],
  'iam.createDirectoryService': [creating('/iam/v4.1.b2/authn/directory-services', directory)],
  'iam.createRole': [creating('/iam/v4.1.b2/authz/roles', role)],
  'iam.createSamlIdentityProvider': [creating('/iam/v4.1.b2/authn/saml-identity-providers', samlProvider)],
  'iam.createUser': [
    creating(users, local),
    creating(users, () => ({ userType: 'SERVICE_ACCOUNT', username: named() })),
  ],
  'iam.createUserKey': [
    async (app) => {
      const user = await made(app, users, { userType: 'SERVICE_ACCOUNT', username: named() })
      return { path: `${user}/keys`, body: { name: named(), keyType: 'API_KEY' } }
    },
  ],
  'iam.resetUserPassword': [
    async (app) => {
      const user = await made(app, users, local())
      return { path: `${user}/$actions/reset-password`, body: { newPassword: 'Another.Horse8' } }
    },
  ],
  'iam.updateAuthorizationPolicyById': [updating('/iam/v4.1.b2/authz/authorization-policies', authorization)],
  'iam.updateDirectoryServiceById': [updating('/iam/v4.1.b2/authn/directory-services', directory)],
  'iam.updateRoleById': [updating('/iam/v4.1.b2/authz/roles', role)],
  'iam.updateSamlIdentityProviderById': [
    async (app) => {
      const body = await samlProvider()
      const collection = '/iam/v4.1.b2/authn/saml-identity-providers'
      return { path: await once(app, collection, () => made(app, collection, body)) }
    },
  ],
  'iam.updateUserById': [
    updating(users, local),
    updating(users, () => ({ userType: 'SERVICE_ACCOUNT', username: named() })),
  ],
  'iam.updateUserState': [
    async (app) => ({ path: `${await made(app, users, local())}/$actions/change-state`, body: { status: 'INACTIVE' } }),
  ],
  'iam.updateWelcomeBanner': [at('/iam/v4.1.b2/authn/welcome-banner')],
  'networking.clearRoutingPolicyCounters': [
    async (app) => ({
      path: '/networking/v4.3/stats/routing-policies/$actions/clear',
      body: {
        vpcExtId: seedId('vpc/prod'),
        routingPolicyExtId: (await once(app, 'cleared policy', () => made(app, routingPolicies, policy({})))).slice(
          -36,
        ),
      },
    }),
  ],
  'networking.createFloatingIp': [
    creating(floatingIps, () => floating({ association: toPrivate() })),
    creating(floatingIps, () => floating({ floatingIp: address(`100.64.0.${++host}`) })),
    async (app) => ({ path: floatingIps, body: floating({ ...onNat, association: await toNic(app, 'web-01') }) }),
    async (app) => {
      const { vmNicReference } = await toNic(app, 'web-02')
      return { path: floatingIps, body: floating({ ...onNat, vmNicReference, vpcReference: seedId('vpc/prod') }) }
    },
    async (app) => {
      const ipConfig = ipConfigOf({ ipv6: 'fd00:45::/64' })
      const outside = { name: named(), subnetType: 'VLAN', networkId: 345, isExternal: true, ipConfig }
      const subnet = await once(app, 'outside of six', () => made(app, subnets, outside))
      const floatingIp = { ipv6: { value: `fd00:45::${++host}`, prefixLength: 128 } }
      return { path: floatingIps, body: floating({ externalSubnetReference: subnet.slice(-36), floatingIp }) }
    },
  ],
  'networking.createRoutingPolicy': policies.map((body) => creating(routingPolicies, body)),
  'networking.createNetworkController': [
    async (app) => {
      const collection = '/networking/v4.3/config/controllers'
      for (const { extId } of (await app.call('GET', collection)).data) await deleted(app, `${collection}/${extId}`)
      return { path: collection, body: {} }
    },
  ],
  'networking.createSubnet': [vlanSubnet, overlaySubnet, externalSubnet, sixSubnet, relayedSubnet].map((body) =>
    creating(subnets, body),
  ),
  'networking.createVpc': [creating(vpcs, () => ({ name: named(), externalSubnets: [attachedTo('ext-nat')] }))],
  'networking.reserveIpsBySubnetId': [
    reserving('reserve', { reserveType: 'IP_ADDRESS_COUNT', count: 1 }),
    reserving('reserve', { reserveType: 'IP_ADDRESS_RANGE', startIpAddress: address('10.77.0.101'), count: 2 }),
    reserving('reserve', { reserveType: 'IP_ADDRESS_LIST', ipAddresses: [address('10.77.0.102')] }),
  ],
  'networking.unreserveIpsBySubnetId': [
    reserving('unreserve', { unreserveType: 'CONTEXT', clientContext: 'some' }),
    reserving('unreserve', { unreserveType: 'IP_ADDRESS_RANGE', startIpAddress: address('10.77.0.101'), count: 2 }),
    reserving('unreserve', { unreserveType: 'IP_ADDRESS_LIST', ipAddresses: [address('10.77.0.102')] }),
  ],
  'networking.updateFloatingIpById': [
    updating(floatingIps, () => floating({ association: toPrivate() })),
    async (app) => {
      const path = await once(app, 'floating IP of a NIC', () => made(app, floatingIps, floating(onNat)))
      return { path, body: floating({ ...onNat, association: await toNic(app, 'db-01') }) }
    },
    async (app) => {
      const path = await once(app, 'floating IP in short', () => made(app, floatingIps, floating(onNat)))
      const { vmNicReference } = await toNic(app, 'floating-01')
      return { path, body: floating({ ...onNat, vmNicReference, vpcReference: seedId('vpc/prod') }) }
    },
  ],
  'networking.updateNetworkControllerById': [at(`/networking/v4.3/config/controllers/${seedId('network-controller')}`)],
  'networking.updateRoutingPolicyById': policies.map((body) => async (app) => ({
    path: await once(app, 'routing policy', () => made(app, routingPolicies, policy({}))),
    body: body(),
  })),
  'networking.updateSubnetById': [vlanSubnet, overlaySubnet, externalSubnet, sixSubnet, relayedSubnet].map((body) =>
    updating(subnets, body),
  ),
  'networking.updateVpcById': [updating(vpcs, () => ({ name: named(), externalSubnets: [attachedTo('ext-nat')] }))],
  'platform.createCategory': [creating('/platform/v4.3/config/categories', category)],
  'platform.createRestoreSource': [
    creating('/platform/v4.3/management/restore-sources', () => ({ location: onCluster(nativeCluster) })),
    creating('/platform/v4.3/management/restore-sources', () => ({ location: inBucket({}, null) })),
  ],
  'platform.createBackupTarget': [
    async (app) => {
      const old = await bucketTarget(app)
      if (old !== undefined) await deleted(app, `${targets}/${old.extId}`)
      return { path: targets, body: { location: inBucket({ region: 'us-east-1' }) } }
    },
    creating(targets, () => ({ location: onCluster(nativeCluster) })),
  ],
  'platform.register': [
    async () => ({
      path: `${ownPath}/$actions/register`,
      readPath: `/platform/v4.3/config/domain-managers/${seedId('manager')}`,
      body: registerBody('10.44.99.99'),
    }),
  ],
  'platform.submitBatch': [
    async () => ({
      path: '/platform/v4.3/operations/$actions/batch',
      body: {
        metadata: { action: 'CREATE', name: named(), uri: '/api/platform/v4.3/config/categories' },
        payload: [{ data: category() }],
      },
    }),
    async (app) => ({
      path: '/platform/v4.3/operations/$actions/batch',
      body: {
        metadata: { action: 'DELETE', name: named(), uri: '/api/platform/v4.3/config/categories/{extId}' },
        payload: [
          {
            metadata: {
              headers: [{ name: 'If-Match', value: 'x' }],
              path: [
                { name: 'extId', value: (await made(app, '/platform/v4.3/config/categories', category())).slice(-36) },
              ],
            },
          },
        ],
      },
    }),
  ],
  'platform.updateProductById': [
    async (app) => {
      const [product] = (await app.call('GET', `${ownPath}/products?$filter=name eq 'SELF_SERVICE'`)).data
      return { path: `${ownPath}/products/${product.extId}`, body: { enablementState: product.enablementState } }
    },
  ],
  'platform.updateBackupTargetById': [
    async (app) => {
      const target = (await bucketTarget(app)) ?? {
        extId: (await made(app, targets, { location: inBucket() })).slice(-36),
      }
      return { path: `${targets}/${target.extId}`, body: { location: inBucket() } }
    },
  ],
  'platform.updateCategoryById': [updating('/platform/v4.3/config/categories', category)],
  'storage.updateIscsiClientById': [
    async (app) => ({
      path: `${older}/iscsi-clients/${await once(app, 'iscsi client', async () => (await iscsiAttachment(app)).client)}`,
      readPath: `${clients}/${await once(app, 'iscsi client', async () => (await iscsiAttachment(app)).client)}`,
      body: {},
    }),
    async (app) => {
      const { client } = await iscsiAttachment(app)
      const body = { enabledAuthentications: 'CHAP', clientSecret: 'client-secret-1' }
      return { path: `${older}/iscsi-clients/${client}`, readPath: `${clients}/${client}`, body }
    },
  ],
  'storage.updateStorageContainer': [
    updating(`${older}/storage-containers`, () => ({ name: named() }), nativeCluster),
    notInherited(`${older}/storage-containers`),
  ],
  'storage.updateVolumeDisk': [
    async (app) => {
      const readPath = await once(app, 'disk', () => aDiskPath(app))
      return { path: readPath.replace('/volumes/v4.2/config', older), readPath, body: {} }
    },
  ],
  'vmm.createVm': [
    creating(vms, () =>
      vm({
        disks: [{ backingInfo: { $objectType: 'vmm.v4.ahv.config.VmDisk', diskSizeBytes: GiB } }],
        nics: [{ networkInfo: { subnet: { extId: seedId('subnet/vlan-100-app') } } }],
      }),
    ),
    creating(vms, () =>
      vm({
        numSockets: 4,
        nics: [
          {
            nicNetworkInfo: {
              $objectType: 'vmm.v4.ahv.config.VirtualEthernetNicNetworkInfo',
              subnet: { extId: seedId('subnet/vlan-100-app') },
            },
            nicBackingInfo: { $objectType: 'vmm.v4.ahv.config.VirtualEthernetNic' },
          },
        ],
      }),
    ),
    creating(vms, () => vm({ ...uefi, vtpmConfig: { isVtpmEnabled: true } })),
    creating(vms, () => vm({ apcConfig: { isApcEnabled: true } })),
    creating(vms, () => vm({ isAgentVm: true, host: { extId: hostId('hp-n01-a') } })),
    creating(vms, () => vm({ ...withDisk, bootConfig: bootedFrom('LegacyBoot', 'BootDeviceDisk', bootAddress) })),
    creating(vms, () => vm({ ...withDisk, bootConfig: bootedFrom('UefiBoot', 'BootDeviceDisk', bootAddress) })),
    creating(vms, () => vm({ ...withMac, bootConfig: bootedFrom('LegacyBoot', 'BootDeviceNic', mac) })),
    creating(vms, () => vm({ ...withMac, bootConfig: bootedFrom('UefiBoot', 'BootDeviceNic', mac) })),
  ],
  'vmm.updateImageById': [updating('/vmm/v4.2/content/images', image)],
  'vmm.updateSerialPortById': [async (app) => ({ path: await once(app, 'serial port', () => aSerialPort(app)) })],
  'vmm.updateVmAntiAffinityPolicyById': [
    updating(antiAffinityPolicies, () => policyBody(seedId('category/Environment/Production'))),
  ],
  'vmm.updateVmById': [
    updating(vms, vm),
    updating(vms, () =>
      vm({
        bootConfig: { $objectType: 'vmm.v4.ahv.config.UefiBoot' },
        disks: [{ backingInfo: { $objectType: 'vmm.v4.ahv.config.VmDisk', diskSizeBytes: GiB } }],
        nics: [{ networkInfo: { subnet: { extId: seedId('subnet/vlan-100-app') } } }],
      }),
    ),
  ],
  'volumes.associateCategory': [onGroup('associate-category', categoriesOf)],
  'volumes.attachIscsiClient': [
    onGroup('attach-iscsi-client', () => ({ iscsiInitiatorName: iqn() })),
    onGroup('attach-iscsi-client', () => ({
      iscsiInitiatorName: iqn(),
      enabledAuthentications: 'CHAP',
      clientSecret: 'client-secret-1',
    })),
    onGroup('attach-iscsi-client', () => ({ iscsiInitiatorNetworkId: address('10.44.9.9') })),
    onGroup('attach-iscsi-client', async (app) => ({ extId: (await iscsiAttachment(app)).client })),
  ],
  'volumes.attachNvmfClient': [
    onGroup('attach-nvmf-client', () => ({ nvmfInitiatorName: `nqn.2014-08.org.example:${named()}` })),
  ],
  'volumes.attachVm': [onGroup('attach-vm', async (app) => ({ extId: (await aVm(app)).extId, index: 3 }))],
  'volumes.detachVm': [
    async (app) => {
      const [group, machine] = [await aGroup(app), await aVm(app)]
      await succeeded(app, act(app, group.extId, 'attach-vm', { extId: machine.extId }))
      return { path: `${groups}/${group.extId}/$actions/detach-vm`, body: { extId: machine.extId } }
    },
  ],
  'volumes.createVolumeDisk': [
    async (app) => ({
      path: `${groups}/${(await aGroup(app)).extId}/disks`,
      body: { diskSizeBytes: GiB, ...onContainer() },
    }),
  ],
  'volumes.detachIscsiClient': [
    async (app) => {
      const { group, client } = await iscsiAttachment(app)
      return { path: `${groups}/${group.extId}/$actions/detach-iscsi-client`, body: { extId: client } }
    },
  ],
  'volumes.disassociateCategory': [
    async (app) => {
      const group = await aGroup(app)
      await act(app, group.extId, 'associate-category', categoriesOf())
      return { path: `${groups}/${group.extId}/$actions/disassociate-category`, body: categoriesOf() }
    },
  ],
  'volumes.createVolumeGroup': [
    creating(groups, () => ({
      name: named(),
      clusterReference: nativeCluster,
      sharingStatus: 'SHARED',
      disks: [{ diskSizeBytes: GiB, ...onContainer() }],
    })),
    creating(groups, () => ({ name: named(), clusterReference: nativeCluster, ...chap })),
  ],
  'volumes.updateIscsiClientById': [
    async (app) => ({
      path: `${clients}/${await once(app, 'iscsi client', async () => (await iscsiAttachment(app)).client)}`,
    }),
    async (app) => ({
      path: `${clients}/${(await iscsiAttachment(app)).client}`,
      body: { enabledAuthentications: 'CHAP', clientSecret: 'client-secret-1' },
    }),
  ],
  'volumes.detachNvmfClient': [
    async (app) => {
      const group = await aGroup(app)
      const nvmfInitiatorName = `nqn.2014-08.org.example:${named()}`
      const task = await succeeded(app, act(app, group.extId, 'attach-nvmf-client', { nvmfInitiatorName }))
      const body = { extId: task.entitiesAffected[0].extId, nvmfInitiatorName }
      return { path: `${groups}/${group.extId}/$actions/detach-nvmf-client`, body }
    },
  ],
  'volumes.updateVolumeDiskById': [async (app) => ({ path: await once(app, 'disk', () => aDiskPath(app)) })],
  'volumes.updateVolumeGroupById': [
    updating(groups, () => ({ name: named(), clusterReference: nativeCluster })),
    async (app) => {
      const path = await once(app, 'group without CHAP', async () => `${groups}/${(await aGroup(app)).extId}`)
      return { path, body: chap }
    },
  ],
}

export function basesOf({ key }: Operation): readonly Base[] {
  const creation = creations[key]
  const { path, body, clusterId, tagOf } = creation ?? {}
  // These bodies contain random numbers that may be in use; the ones above are sequential.
  const isDrawn = key === 'networking.createRoutingPolicy' || key === 'networking.createSubnet'
  const smallest =
    path === undefined || body === undefined || isDrawn ? [] : [creating(path, () => body(named()), clusterId, tagOf)]
  return [...smallest, ...(bases[key] ?? [])]
}

/** By `<operation> <field>`, or `* <name>` for a field of that name anywhere. */
export const fieldValues: Readonly<Record<string, readonly unknown[]>> = {
  '* diskSizeBytes': [3 * GiB],
  '* externalDataServiceIp': [address('10.44.1.201')],
  '* fqdn': ['cluster.example.com'],
  'vmm.createVm nics/nicNetworkInfo<VirtualEthernetNicNetworkInfo>/ipv4Config/ipAddress': [{ value: '10.10.100.79' }],
  '* ipAddress': [address('10.44.1.77'), { value: '10.10.100.77' }],
  '* secondaryIpAddressList': [{ value: '10.10.100.78' }],
  '* secondaryUrls': ['ldap://other.simulated'],
  '* externalIps': [address('10.44.3.205')],
  '* dhcpServerAddress': [{ value: '10.77.0.2' }, { value: 'fd00::2' }],
  '* startIp': [{ value: '10.77.0.90' }, { value: 'fd00::90' }],
  '* endIp': [{ value: '10.77.0.130' }, { value: 'fd00::130' }],
  '* hardwareClockTimezone': ['Europe/Paris'],
  '* memorySizeBytes': [2 * GiB],
  '* numQueues': [2],
  '* operations': [operationId('View_Category')],
  'iam.updateUserById password': ['Another.Horse8'],
  '* url': ['https://images.example.com/other.qcow2', 'ldap://other.simulated'],
  '* entityFilter': [{ vm: { '*': { eq: '*' } } }],
  '* identityFilter': [{ user: { uuid: { anyof: [randomUUID()] } } }],
}
