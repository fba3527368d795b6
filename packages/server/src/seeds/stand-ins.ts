/** Replacements for omitted secrets and hashes. Both ends of a shared secret derive from one ephemeral key of the import. */
import { createHmac } from 'node:crypto'
import { secretDigest } from '../drivers/hardware.ts'
import { bmcDigest } from '../drivers/simulated/hardware.ts'
import { vcenterDigest } from '../drivers/simulated/management-extensions.ts'
import { digestOf } from '../drivers/simulated/place-doors.ts'
import { remotePasswordDigest } from '../drivers/simulated/remote-managers.ts'
import { demoBucket, demoClusterLogin } from './demo/backups.ts'
import { demoRemoteLogin } from './demo/registrations.ts'
import { vcenterLogin } from './demo/vcenters.ts'

export interface StandIns {
  readonly adminPasswordHash: string
  /** Equal results for both ends of one secret. */
  readonly secretFor: (what: string) => string
  /** A digest that matches no secret. */
  readonly noDigest: () => string
}

export function standInsOf(key: Buffer, adminPasswordHash: string): StandIns {
  let count = 0
  const hmac = (text: string, encoding: 'base64url' | 'hex'): string =>
    createHmac('sha256', key).update(text).digest(encoding)
  return {
    adminPasswordHash,
    // CHAP secrets have at most 16 characters.
    secretFor: (what) => hmac(what, 'base64url').slice(0, 16),
    noDigest: () => hmac(`nothing ${count++}`, 'hex'),
  }
}

/** `any`: rules name fields of many kinds, and the export checks each path. */
export type Doc = Record<string, any>
export type Path = readonly string[]
/** @param about id of the entity or fact, and the names of map keys on the way */
type StandIn = (ctx: StandIns, document: Doc, about: readonly string[]) => unknown

export interface Rule {
  /** `*` matches every key of a mapping; the path applies to each item of a list. */
  readonly path: Path
  readonly what: string
  readonly instead: string
  readonly standIn?: StandIn
  /** Not a field of the kind: the export omits its name too. */
  readonly isInternal?: true
}

export const missingText = 'is not there: give it again'
const createdAgain = 'created again, at both ends'
const ofAdmin = 'the password of admin'
const opensNothing = 'are listed and open nothing: make others'

/** In addition to the secrets of the contract. */
export const entityRules: Readonly<Record<string, readonly Rule[]>> = {
  BmcInfo: [
    {
      path: ['credential', 'password'],
      what: 'passwords of BMCs',
      instead: createdAgain,
      standIn: (ctx, { extId }) => ctx.secretFor(`bmc/${extId}`),
    },
  ],
  DirectoryService: [
    {
      path: ['serviceAccount', 'password'],
      what: 'passwords of directory accounts',
      instead: `${createdAgain}; of a real directory: give them again`,
      standIn: (ctx, { serviceAccount }) => ctx.secretFor(`directory/${accountName(serviceAccount.username)}`),
    },
  ],
  IscsiClient: [
    {
      path: ['clientSecret'],
      what: 'CHAP secrets',
      instead: createdAgain,
      standIn: (ctx, { extId }) => ctx.secretFor(`client/${extId}`),
    },
  ],
  Key: [{ path: ['apiKeyDigest'], what: 'API keys', instead: opensNothing, standIn: (ctx) => ctx.noDigest() }],
  SnmpUser: (['authKey', 'privKey'] as const).map((name) => ({
    path: [name],
    what: 'keys of SNMP users',
    instead: createdAgain,
    standIn: (ctx: StandIns, { clusterExtId }: Doc) => ctx.secretFor(`snmp/${clusterExtId}/${name}`),
  })),
  Task: [
    { path: ['runner'], what: 'how finished tasks ran', instead: 'is not there', isInternal: true },
    {
      path: ['ownerDetails'],
      what: 'completion details that only the owner of a task sees',
      instead: 'is not there',
      isInternal: true,
    },
  ],
  SystemAccount: [
    {
      path: ['passwordHash'],
      what: 'passwords of system accounts',
      instead: ofAdmin,
      standIn: (ctx) => ctx.adminPasswordHash,
    },
    {
      path: ['formerPasswordHashes'],
      what: 'former passwords of system accounts',
      instead: ofAdmin,
      standIn: (ctx) => [ctx.adminPasswordHash],
    },
  ],
  User: [
    {
      path: ['previousPassword'],
      what: 'passwords that were replaced in the last minutes',
      instead: 'are not there',
      isInternal: true,
    },
    {
      path: ['passwordHash'],
      what: 'passwords of local users',
      instead: ofAdmin,
      standIn: (ctx) => ctx.adminPasswordHash,
    },
    {
      path: ['formerPasswordHashes'],
      what: 'former passwords of local users',
      instead: ofAdmin,
      standIn: (ctx) => [ctx.adminPasswordHash],
    },
  ],
  VpnConnection: [
    {
      path: ['ipsecConfig', 'preSharedKey'],
      what: 'keys of VPN connections',
      instead: createdAgain,
      standIn: (ctx, { extId }) => ctx.secretFor(`vpn/${extId}`),
    },
  ],
  VolumeGroup: [
    {
      path: ['iscsiFeatures', 'targetSecret'],
      what: 'CHAP secrets',
      instead: createdAgain,
      standIn: (ctx, { extId }) => ctx.secretFor(`target/${extId}`),
    },
  ],
}

export const factRules: Readonly<Record<string, readonly Rule[]>> = {
  'blockStorage.initiators': [
    { path: ['otherSecret', 'digest'], what: 'CHAP secrets that clients changed', instead: missingText },
  ],
  'blockStorage.targets': [
    {
      path: ['chapDigest'],
      what: 'CHAP secrets',
      instead: createdAgain,
      standIn: (ctx, _, [id]) => secretDigest(`target/${id}`, ctx.secretFor(`target/${id}`)),
    },
    {
      path: ['accessList', '*', 'chapDigest'],
      what: 'CHAP secrets',
      instead: createdAgain,
      standIn: (ctx, _, [, client]) => secretDigest(`client/${client}`, ctx.secretFor(`client/${client}`)),
    },
  ],
  'directory.settings': [
    {
      path: ['passwordHash'],
      what: 'passwords of people of simulated directories',
      instead: ofAdmin,
      standIn: (ctx) => ctx.adminPasswordHash,
    },
  ],
  'directory.users': [
    {
      path: ['password'],
      what: 'passwords of directory accounts',
      instead: `${createdAgain}; of a real directory: give them again`,
      standIn: (ctx, { name }) => digestOf(ctx.secretFor(`directory/${accountName(name)}`)),
    },
  ],
  'fabric.bgp-peer': [{ path: ['passwordDigest'], what: 'passwords of BGP', instead: missingText }],
  'fabric.gateway': [
    { path: ['service', 'bgp', 'passwordDigest'], what: 'passwords of BGP', instead: missingText },
    { path: ['service', 'interior', 'ibgpPeers', 'password'], what: 'passwords of iBGP', instead: missingText },
    { path: ['service', 'interior', 'ospf', 'password'], what: 'passwords of OSPF', instead: missingText },
  ],
  'fabric.vpn-tunnel': [
    {
      path: ['security', 'keyDigest'],
      what: 'keys of VPN connections',
      instead: createdAgain,
      standIn: (ctx, _, [id]) => secretDigest(id as string, ctx.secretFor(`vpn/${id}`)),
    },
    { path: ['routing', 'bgp', '*', 'passwordDigest'], what: 'passwords of BGP', instead: missingText },
  ],
  'extern.vcenters': [
    {
      path: ['passwordDigest'],
      what: 'passwords of simulated vCenters',
      instead: 'the password of docs/reference/demo-world.md',
      standIn: (_, __, [id]) => vcenterDigest(id as string, vcenterLogin.password),
    },
  ],
  'hardware.accounts': [
    {
      path: ['digest'],
      what: 'passwords of accounts on clusters and hosts',
      instead: opensNothing,
      standIn: (ctx) => ctx.noDigest(),
    },
    { path: ['changed'], what: 'replaced passwords of these accounts', instead: 'are not there', isInternal: true },
  ],
  'hardware.bmcs': [
    {
      path: ['passwordDigest'],
      what: 'passwords of BMCs',
      instead: createdAgain,
      standIn: (ctx, _, [id]) => bmcDigest(id as string, ctx.secretFor(`bmc/${id}`)),
    },
  ],
  'hardware.clusters': (['authKey', 'privKey'] as const).map((name) => ({
    path: ['settings', 'SNMP_SERVER_CONFIG', 'users', name],
    what: 'keys of SNMP users',
    instead: createdAgain,
    standIn: (ctx: StandIns, _: Doc, [id = '']: readonly string[]) => ({
      digest: secretDigest(id, ctx.secretFor(`snmp/${id}/${name}`)),
    }),
  })),
  'objectStore.buckets': [
    {
      path: ['keys', '*'],
      what: 'keys of simulated buckets',
      instead: 'the secret of docs/reference/demo-world.md',
      standIn: () => digestOf(demoBucket.secretAccessKey),
    },
  ],
  'objectStore.clusters': [
    {
      path: ['password'],
      what: 'passwords of simulated clusters and managers',
      instead: 'the password of docs/reference/demo-world.md',
      standIn: () => digestOf(demoClusterLogin.password),
    },
  ],
  'remotes.sides': [
    {
      path: ['passwordDigest'],
      what: 'passwords of simulated clusters and managers',
      instead: 'the password of docs/reference/demo-world.md',
      standIn: (_, __, [id]) => remotePasswordDigest(id as string, demoRemoteLogin.password),
    },
  ],
}

const accountName = (username: string): string => username.replace(/^.*\\/, '').replace(/@.*$/, '').toLowerCase()
