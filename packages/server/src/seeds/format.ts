/** Readers, types and the JSON Schema for editors derive from this format. Fields are named as in the interface. */
import {
  type AnySchema,
  anything,
  arrayOf,
  enumeration,
  integer,
  mapOf,
  object,
  oneOf,
  optional,
  text,
  timestamp,
  uuid,
  type ValueOf,
} from '@hyperplane/contract'
import { Cluster, ExternalStorage, Node, Profile, Switch } from './format/clusters.ts'
import { ExternVm, Image, Vm } from './format/machines.ts'
import { BackupTarget, Bucket, Manager, OwnManager, PastBatch, PastTask } from './format/managers.ts'
import {
  Balancer,
  Connection,
  Controller,
  Gateway,
  Route,
  RoutingPolicy,
  Session,
  Stretch,
  Subnet,
  Vpc,
} from './format/networks.ts'
import { Performed } from './format/operations.ts'
import { Banner, CertAuth, Directory, Policy, Role, Saml, User, UserGroup } from './format/people.ts'
import { IscsiClient, NvmfClient, VolumeGroup } from './format/volumes.ts'
import { about, description, largestCount, name } from './format/words.ts'
import { presets } from './presets.ts'

const Category = object('', {
  key: name(64),
  value: about('With count, {n} is the number of each.', name(64)),
  description: description(),
  extId: optional(uuid()),
  count: optional(integer({ minimum: 1, maximum: 1000 })),
})

const section = <S extends AnySchema>(description: string, items: S, maxItems = 1000) =>
  optional(about(description, arrayOf(items, { maxItems })))

const declared = {
  categories: section('What things are sorted by.', Category),
  roles: section('Roles beside those of the system.', Role),
  directories: section('Directories that sign people in, and who is in them: simulated ones.', Directory, 100),
  samlIdentityProviders: section('SAML providers, by what they publish.', Saml, 100),
  userGroups: section('Groups of directories and SAML providers.', UserGroup),
  users: section('Who may sign in.', User),
  certAuthProviders: section('Whose client certificates sign people in.', CertAuth, 100),
  authorizationPolicies: section('Who holds which role on what.', Policy),
  welcomeBanner: optional(about('What is shown before a user signs in.', Banner)),
  externalStorages: section('Storage arrays.', ExternalStorage),
  clusters: section('Clusters with their hosts and storage containers.', Cluster, 500),
  unconfiguredNodes: section('Machines of no cluster, which clusters can discover.', Node, 256),
  clusterProfiles: section('Settings that clusters are brought to and watched for.', Profile),
  virtualSwitches: section('Virtual switches beside vs0, which each native cluster has.', Switch),
  networkController: optional(about('There is one at the latest with the first VPC.', Controller)),
  vpcs: section('Routing domains with their routers and route tables.', Vpc),
  subnets: section('VLANs and overlay subnets.', Subnet),
  routingPolicies: section('What the routers of VPCs let through.', RoutingPolicy),
  routes: section('Static routes of VPCs.', Route),
  gateways: section("Gateways of VPCs, and other people's devices.", Gateway),
  bgpSessions: section('Between a local and a remote gateway.', Session),
  vpnConnections: section('Between a local and a remote gateway. Both ends get a key; none is written.', Connection),
  layer2Stretches: section('Between a subnet and one of another manager.', Stretch, 100),
  images: section('What disks and drives are made from.', Image),
  vms: optional(
    about(
      'How many more, powered off, on all native clusters; or what they are like.',
      oneOf(integer({ minimum: 0, maximum: largestCount }), arrayOf(Vm, { maxItems: 10_000 })),
    ),
  ),
  loadBalancerSessions: section('Balancers in VPCs, in front of VMs.', Balancer),
  externalVms: section('VMs of external clusters, as their management shows them.', ExternVm, 10_000),
  iscsiClients: section(
    'Initiators outside; those that a volume group names by their initiator names need not be here.',
    IscsiClient,
  ),
  nvmfClients: section('The same for NVMe over TCP.', NvmfClient),
  volumeGroups: section('Volume groups with their disks and the clients that use them.', VolumeGroup),
  operations: section(
    'Operations of the API, for kinds without a section. Performed in this order.',
    Performed,
    10_000,
  ),
  manager: optional(about('This manager.', OwnManager)),
  domainManagers: section('Other managers, and whether they are registered with this one.', Manager, 100),
  buckets: section('Of simulated object stores; their keys are those of docs/reference/demo-world.md.', Bucket, 100),
  backupTargets: section('Where this manager backs itself up to, from its next run on.', BackupTarget, 4),
  tasks: section('Tasks that have ended, one an hour, the oldest first.', PastTask),
  batches: section('Creations of many categories at once that have ended.', PastBatch, 100),
}

const exact = {
  world: optional(
    about('Of an exported world: what is its own and in no row.', object('', { tenantId: uuid(), time: timestamp() })),
  ),
  entities: optional(
    about(
      'Rows as they are stored, by kind, in the order of their creation. Written by exports.',
      mapOf(arrayOf(anything())),
    ),
  ),
  facts: optional(
    about('Facts of the simulated infrastructure, by collection and id. Written by exports.', mapOf(mapOf(anything()))),
  ),
  leftOut: optional(
    about(
      'What an export does not contain, and what replaces it. Has no effect.',
      arrayOf(object('', { what: text(), count: integer(), instead: text() })),
    ),
  ),
}

const base = {
  extends: optional(
    about(
      'What it adds to: a preset (default: empty), or nothing, where its rows are the whole world.',
      enumeration([...presets, 'nothing']),
    ),
  ),
  random: optional(
    about(
      'What ids, placements and statistics are drawn from. Default: the text of this file.',
      text({ minLength: 1, maxLength: 256 }),
    ),
  ),
  names: optional(about('Other names for what a preset calls by these.', mapOf(name()))),
}

export const SeedFile = object('', { ...base, ...declared, ...exact })

export type SeedContent = NonNullable<ValueOf<typeof SeedFile>>
export type Declared = Pick<SeedContent, keyof typeof declared>
type Section = keyof Declared
export type DeclaredOf<S extends Section> = Extract<NonNullable<Declared[S]>, readonly unknown[]>[number]
export type DeclaredCluster = DeclaredOf<'clusters'>
export type DeclaredNode = DeclaredOf<'unconfiguredNodes'>
export type DeclaredSubnet = DeclaredOf<'subnets'>
export type DeclaredVm = DeclaredOf<'vms'>
export type DeclaredVolumeGroup = DeclaredOf<'volumeGroups'>
