/** The catalogue of events. docs/reference/world-events.md describes the consequences in the control plane. */
import type { HappeningOf, HappeningType } from '@hyperplane/contract/control/world-happening'
import { failHydration, resumeHydration } from '../block-images.ts'
import { outsideVms } from '../external-hypervisor.ts'
import { joinGroup } from '../hypervisor/groups.ts'
import type { SimulatedWorld } from '../world.ts'
import { changeFact } from './drift.ts'
import { failDrive, insertDrive, pullDrive, replaceDrive, returnDrive, setDriveSlowness } from './drives.ts'
import type { EventSort, Naming, Target, TargetKind } from './event.ts'
import { kindsOfFacts } from './facts.ts'
import { closePort, crashGuest, endGuest, hangGuest, openPorts, recoverGuest, setGuestFault } from './guests.ts'
import {
  changeVcenterPassword,
  failHost,
  returnHost,
  setHardwareFault,
  setManagementAway,
  setSlowness,
} from './hosts.ts'
import {
  changeClientSecret,
  connectClient,
  disconnectClient,
  failDataServices,
  restoreClientSecret,
  returnDataServices,
} from './initiators.ts'
import { changeLinks, setBgpPeerSilent, setControllerState, setRemoteFault, setVpnPeerFault } from './links.ts'
import {
  contentFault,
  setAuthorityFault,
  setContentFault,
  setDirectoryFault,
  setPlaceFault,
  setWebFault,
} from './services.ts'
import { fillContainer, freeContainer, setStall } from './storage.ts'

export { CannotHappen, type EventSort, type Naming, type Occurrence, type Surroundings, type Target } from './event.ts'

type Catalogue = { readonly [T in HappeningType]: EventSort<T> }

const said = async (change: Promise<boolean>, sentence: string): Promise<readonly string[]> =>
  (await change) ? [sentence] : []

type About<T extends HappeningType> = EventSort<T>['about']
type Happen<T extends HappeningType> = EventSort<T>['happen']

const event = <T extends HappeningType>(about: About<T>, happen: Happen<T>): EventSort<T> => ({ about, happen })
const lasting = <T extends HappeningType>(until: HappeningType, about: About<T>, happen: Happen<T>): EventSort<T> => ({
  about,
  until,
  happen,
})

interface Fault {
  readonly set: (world: SimulatedWorld, target: Target, isOn: boolean) => Promise<boolean>
  readonly begun: (name: string) => string
  readonly ended: (name: string) => string
}

/** Two events: the fault lasts from `begin` until `end`. */
const fault = <B extends HappeningType, E extends HappeningType>(
  of: (event: HappeningOf<B> | HappeningOf<E>) => Naming,
  begin: B,
  end: E,
  { set, begun, ended }: Fault,
) =>
  ({
    [begin]: lasting<B>(end, of, ({ world, target }) => said(set(world, target, true), begun(target.name))),
    [end]: event<E>(of, ({ world, target }) => said(set(world, target, false), ended(target.name))),
  }) as Pick<Catalogue, B | E>

const about =
  <K extends string>(kind: TargetKind, field: K) =>
  (event: { readonly [F in K]: string }): Naming => ({ kind, text: event[field], field })

const ofHost = about('host', 'host')
const ofCluster = about('cluster', 'cluster')
const ofDisk = about('disk', 'disk')
const ofContainer = about('storage container', 'container')
const ofSession = about('BGP session', 'session')
const ofConnection = about('VPN connection', 'connection')
const ofRemote = about('remote cluster or manager', 'remote')
const ofController = (): Naming => ({ kind: 'network controller', text: '', field: 'type' })
const ofDirectory = about('directory', 'directory')
const ofPlace = about('place of backups', 'place')
const ofWeb = about('web server', 'server')
const ofAuthority = about('certificate authority', 'authority')
const ofContent = about('content server', 'server')
const ofVm = about('VM', 'vm')
const ofClient = about('storage client', 'client')
const ofGroup = about('volume group', 'group')

const defaultPort = 80
const bytes = (count: number): string => `${count} ${count === 1 ? 'byte' : 'bytes'}`
const sessions = (count: number): string => `${count} ${count === 1 ? 'session' : 'sessions'}`
const guests = (count: number): string => `${count} ${count === 1 ? 'guest' : 'guests'}`

export const catalogue: Catalogue = {
  HOST_FAILS: lasting('HOST_RETURNS', ofHost, ({ world, target }) =>
    said(failHost(world, target.extId), `The host ${target.name} lost its power, and its guests with it.`),
  ),
  HOST_RETURNS: event(ofHost, async ({ world, target }) => {
    const back = await returnHost(world, target.extId)
    if (back === undefined) return []
    const waiting = back.held === 0 ? '' : `; its startup policies hold ${guests(back.held)}`
    return [`The host ${target.name} is up; ${guests(back.restarted)} of it restarted${waiting}.`]
  }),
  HOST_SLOWS: lasting('HOST_SPEEDS_UP', ofHost, ({ world, target, event: { factor = 10 } }) =>
    said(setSlowness(world, target.extId, factor), `The drives of ${target.name} take ${factor} times as long.`),
  ),
  HOST_SPEEDS_UP: event(ofHost, ({ world, target }) =>
    said(setSlowness(world, target.extId, 1), `The drives of ${target.name} are as fast as ever.`),
  ),
  ...fault(ofHost, 'HOST_AGENT_FALLS_SILENT', 'HOST_AGENT_ANSWERS', {
    set: (world, { extId }, isOn) => setHardwareFault(world, extId, 'isAgentSilent', isOn),
    begun: (name) => `The network agent of ${name} is silent.`,
    ended: (name) => `The network agent of ${name} answers again.`,
  }),
  ...fault(ofHost, 'BMC_FALLS_SILENT', 'BMC_ANSWERS', {
    set: (world, { extId }, isOn) => setHardwareFault(world, extId, 'isBmcSilent', isOn),
    begun: (name) => `The BMC of ${name} is silent.`,
    ended: (name) => `The BMC of ${name} answers again.`,
  }),
  ...fault(ofCluster, 'CLUSTER_CUT_OFF', 'CLUSTER_RETURNS', {
    set: (world, { extId }, isOn) => setHardwareFault(world, extId, 'isDown', isOn),
    begun: (name) => `The cluster ${name} cannot be reached.`,
    ended: (name) => `The cluster ${name} can be reached again.`,
  }),
  ...fault(ofCluster, 'EXTERNAL_MANAGEMENT_FAILS', 'EXTERNAL_MANAGEMENT_RETURNS', {
    set: setManagementAway,
    begun: (name) => `The external management of ${name} does not answer.`,
    ended: (name) => `The external management of ${name} answers again.`,
  }),
  EXTERNAL_MANAGEMENT_CHANGES_PASSWORD: event(ofCluster, ({ world, target }) =>
    said(changeVcenterPassword(world, target), `The vCenter of ${target.name} has another password.`),
  ),

  DISK_FAILS: lasting('DISK_REPLACED', ofDisk, ({ world, target }) =>
    said(failDrive(world, target, 'BROKEN'), `The disk ${target.name} is broken.`),
  ),
  DISK_REPLACED: event(ofDisk, async ({ world, target }) => {
    const serialNumber = await replaceDrive(world, target)
    return serialNumber === undefined
      ? []
      : [`The disk ${serialNumber} is in the slot of ${target.name}, and in no pool.`]
  }),
  DISK_GOES_OFFLINE: lasting('DISK_COMES_ONLINE', ofDisk, ({ world, target }) =>
    said(failDrive(world, target, 'OFFLINE'), `The disk ${target.name} is offline.`),
  ),
  DISK_COMES_ONLINE: event(ofDisk, ({ world, target }) =>
    said(returnDrive(world, target), `The disk ${target.name} is online again.`),
  ),
  DISK_SLOWS: lasting('DISK_SPEEDS_UP', ofDisk, ({ world, target, event: { factor = 10 } }) =>
    said(setDriveSlowness(world, target, factor), `The disk ${target.name} takes ${factor} times as long.`),
  ),
  DISK_SPEEDS_UP: event(ofDisk, ({ world, target }) =>
    said(setDriveSlowness(world, target, 1), `The disk ${target.name} is as fast as ever.`),
  ),
  DISK_PULLED: event(ofDisk, async ({ world, target }) => {
    await pullDrive(world, target)
    return [`The disk ${target.name} is out of its slot.`]
  }),
  DISK_INSERTED: event(ofHost, async ({ world, target, event: { tier, sizeBytes } }) => [
    `The disk ${await insertDrive(world, target, { tier, sizeBytes })} is in a slot of ${target.name}, and in no pool.`,
  ]),
  CONTAINER_FILLS: lasting(
    'CONTAINER_FREED',
    ofContainer,
    async ({ world, target, event: { percent = 100 }, roomOf }) => {
      let total: number | undefined
      // Erasure coding of the files just written frees space again, so repeat until nothing more fits.
      for (let written: number | undefined = 1; written !== undefined && written > 0; ) {
        written = await fillContainer(world, target, await roomOf(target.extId), percent)
        if (written !== undefined) total = (total ?? 0) + written
      }
      return total === undefined ? [] : [`Others wrote ${bytes(total)} into ${target.name}: ${percent} % full.`]
    },
  ),
  CONTAINER_FREED: event(ofContainer, async ({ world, target }) => {
    const freed = await freeContainer(world, target.extId)
    return freed === undefined ? [] : [`Others took their ${bytes(freed)} out of ${target.name}.`]
  }),
  ...fault(ofContainer, 'STORAGE_STALLS', 'STORAGE_RESUMES', {
    set: (world, { extId }, isOn) => setStall(world, extId, isOn),
    begun: (name) => `The storage container ${name} answers no reads and writes.`,
    ended: (name) => `The storage container ${name} answers again.`,
  }),

  STORAGE_CLIENT_DISCONNECTS: lasting('STORAGE_CLIENT_CONNECTS', ofClient, async ({ world, target }) => {
    const ended = await disconnectClient(world, target)
    return ended === undefined ? [] : [`The client ${target.name} was removed, and ${sessions(ended)} with it.`]
  }),
  STORAGE_CLIENT_CONNECTS: event(ofClient, ({ world, target }) =>
    said(connectClient(world, target), `The client ${target.name} is back and logs in within 30 s.`),
  ),
  STORAGE_CLIENT_CHANGES_SECRET: lasting(
    'STORAGE_CLIENT_RESTORES_SECRET',
    ofClient,
    ({ world, target, secretDigest }) =>
      said(
        changeClientSecret(world, target, secretDigest),
        `The client ${target.name} logs in with another secret to targets with CHAP.`,
      ),
  ),
  STORAGE_CLIENT_RESTORES_SECRET: event(ofClient, ({ world, target }) =>
    said(restoreClientSecret(world, target), `The client ${target.name} logs in with its former secret again.`),
  ),
  DATA_SERVICES_FAIL: lasting('DATA_SERVICES_RETURN', ofCluster, async ({ world, target }) => {
    const ended = await failDataServices(world, target)
    return ended === undefined ? [] : [`The data services of ${target.name} are down; ${sessions(ended)} ended.`]
  }),
  DATA_SERVICES_RETURN: event(ofCluster, ({ world, target }) =>
    said(returnDataServices(world, target), `The data services of ${target.name} answer again.`),
  ),
  HYDRATION_FAILS: lasting('HYDRATION_RESUMES', ofGroup, ({ world, target }) =>
    said(failHydration(world, target.extId), `The copying for ${target.name} has stopped; its data can be read.`),
  ),
  HYDRATION_RESUMES: event(ofGroup, ({ world, target }) =>
    said(resumeHydration(world, target.extId), `The copying for ${target.name} continues.`),
  ),

  UPLINK_LOST: {
    about: ofHost,
    until: 'UPLINK_RETURNS',
    part: ({ uplink }) => uplink,
    happen: ({ world, target, event: { uplink } }) => changeLinks(world, target, uplink, 'lost'),
  },
  UPLINK_FLAPS: {
    about: ofHost,
    until: 'UPLINK_RETURNS',
    part: ({ uplink }) => uplink,
    happen: ({ world, target, event: { uplink, periodSeconds = 10 } }) =>
      changeLinks(world, target, uplink, { periodSeconds }),
  },
  UPLINK_RETURNS: {
    about: ofHost,
    part: ({ uplink }) => uplink,
    happen: ({ world, target, event: { uplink } }) => changeLinks(world, target, uplink, 'sound'),
  },
  ...fault(ofSession, 'BGP_PEER_FALLS_SILENT', 'BGP_PEER_ANSWERS', {
    set: setBgpPeerSilent,
    begun: (name) => `The peer of the BGP session ${name} is silent.`,
    ended: (name) => `The peer of the BGP session ${name} answers again.`,
  }),
  ...fault(ofConnection, 'VPN_PEER_FALLS_SILENT', 'VPN_PEER_ANSWERS', {
    set: (world, connection, isOn) => setVpnPeerFault(world, connection, 'silentSince', isOn),
    begun: (name) => `The peer of the VPN connection ${name} is silent.`,
    ended: (name) => `The peer of the VPN connection ${name} answers again.`,
  }),
  ...fault(ofConnection, 'VPN_PEER_CHANGES_KEY', 'VPN_PEER_RESTORES_KEY', {
    set: (world, connection, isOn) => setVpnPeerFault(world, connection, 'otherKeySince', isOn),
    begun: (name) => `The peer of the VPN connection ${name} has another key.`,
    ended: (name) => `The peer of the VPN connection ${name} has the key of the connection again.`,
  }),
  ...fault(ofRemote, 'REMOTE_CUT_OFF', 'REMOTE_RETURNS', {
    set: (world, { extId }, isOn) => setRemoteFault(world, extId, 'isUnreachable', isOn),
    begun: (name) => `${name} does not answer.`,
    ended: (name) => `${name} answers again.`,
  }),
  ...fault(ofRemote, 'REMOTE_CERTIFICATE_CHANGES', 'REMOTE_CERTIFICATE_RESTORED', {
    set: (world, { extId }, isOn) => setRemoteFault(world, extId, 'hasWrongCertificate', isOn),
    begun: (name) => `${name} shows another certificate than its own.`,
    ended: (name) => `${name} shows its own certificate again.`,
  }),
  NETWORK_CONTROLLER_FAILS: lasting(
    'NETWORK_CONTROLLER_RETURNS',
    ofController,
    ({ world, target, event: { state = 'DOWN' } }) =>
      said(setControllerState(world, target.extId, state), `The network controller is ${state}.`),
  ),
  NETWORK_CONTROLLER_RETURNS: event(ofController, ({ world, target }) =>
    said(setControllerState(world, target.extId, undefined), 'The network controller is well again.'),
  ),

  DIRECTORY_FAILS: lasting('DIRECTORY_RETURNS', ofDirectory, async ({ world, target, event: { fault = 'DOWN' } }) => {
    return (await setDirectoryFault(world, target, fault)).map((server) => `The directory server ${server}: ${fault}.`)
  }),
  DIRECTORY_RETURNS: event(ofDirectory, async ({ world, target }) => {
    return (await setDirectoryFault(world, target, undefined)).map(
      (server) => `The directory server ${server} is well.`,
    )
  }),
  OBJECT_STORE_FAILS: lasting(
    'OBJECT_STORE_RETURNS',
    ofPlace,
    ({ world, target, event: { fault = 'UNREACHABLE', afterUploads } }) =>
      said(
        setPlaceFault(world, target, fault, afterUploads),
        `The place of backups ${target.name}: ${fault}${afterUploads === undefined ? '' : `, after ${afterUploads} uploads`}.`,
      ),
  ),
  OBJECT_STORE_RETURNS: event(ofPlace, ({ world, target }) =>
    said(setPlaceFault(world, target, undefined), `The place of backups ${target.name} is well.`),
  ),
  WEB_SERVER_FAILS: lasting('WEB_SERVER_RETURNS', ofWeb, ({ world, target, event: { fault = 'DOWN', status } }) =>
    said(
      setWebFault(world, target.extId, fault, status),
      `The web server ${target.name}: ${fault}${status === undefined ? '' : ` ${status}`}.`,
    ),
  ),
  WEB_SERVER_RETURNS: event(ofWeb, ({ world, target }) =>
    said(setWebFault(world, target.extId, undefined), `The web server ${target.name} is well.`),
  ),
  AUTHORITY_FAILS: lasting('AUTHORITY_RETURNS', ofAuthority, ({ world, target, event: { fault = 'EXPIRED' } }) =>
    said(setAuthorityFault(world, target, fault), `The certificate authority ${target.name}: ${fault}.`),
  ),
  AUTHORITY_RETURNS: event(ofAuthority, ({ world, target }) =>
    said(setAuthorityFault(world, target, undefined), `The certificate authority ${target.name} is well.`),
  ),
  CONTENT_SERVER_FAILS: lasting(
    'CONTENT_SERVER_RETURNS',
    ofContent,
    ({ world, target, event: { fault = 'DOWN', status } }) =>
      said(
        setContentFault(world, target.extId, contentFault(fault, status)),
        `The server of content ${target.name}: ${status === undefined ? fault : `status ${status}`}.`,
      ),
  ),
  CONTENT_SERVER_RETURNS: event(ofContent, ({ world, target }) =>
    said(setContentFault(world, target.extId, undefined), `The server of content ${target.name} is well.`),
  ),

  GUEST_CRASHES: event(ofVm, ({ world, target }) =>
    said(crashGuest(world, target), `The guest of ${target.name} restarted.`),
  ),
  GUEST_HALTS: event(ofVm, ({ world, target }) =>
    said(endGuest(world, target), `The guest of ${target.name} turned its machine off.`),
  ),
  GUEST_HANGS: lasting('GUEST_RECOVERS', ofVm, ({ world, target }) =>
    said(hangGuest(world, target), `The guest of ${target.name} hangs.`),
  ),
  GUEST_FAILS: lasting('GUEST_RECOVERS', ofVm, ({ world, target, event: { fault = 'IGNORES_ACPI' } }) =>
    said(setGuestFault(world, target, fault), `The guest of ${target.name}: ${fault}.`),
  ),
  GUEST_RECOVERS: event(ofVm, ({ world, target }) =>
    said(recoverGuest(world, target), `The guest of ${target.name} continues.`),
  ),
  GUEST_PORT_CLOSES: {
    about: ofVm,
    until: 'GUEST_PORT_OPENS',
    part: ({ port = defaultPort }) => String(port),
    happen: ({ world, target, event: { port = defaultPort } }) =>
      said(closePort(world, target, port), `The guest of ${target.name} does not answer on port ${port}.`),
  },
  GUEST_PORT_OPENS: {
    about: ofVm,
    part: ({ port }) => (port === undefined ? undefined : String(port)),
    async happen({ world, target, event: { port } }) {
      const opened = await openPorts(world, target, port)
      return opened.length === 0 ? [] : [`The guest of ${target.name} answers on port ${opened.join(', ')} again.`]
    },
  },
  VM_JOINS_LEGACY_POLICY: event(ofVm, ({ world, target, event: { name = 'legacy' } }) =>
    said(joinGroup(world, target, name), `The legacy policy "${name}" keeps ${target.name} apart from its other VMs.`),
  ),

  FACT_CHANGES: event(
    ({ kind, of }) => ({ kind: kindsOfFacts[kind].target, text: of, field: 'of' }),
    ({ world, target, event: { kind, path, value }, secretDigest }) =>
      said(
        changeFact(world, target.extId, { kind, path, value, secretDigest }),
        `${path} of the ${target.kind} ${target.name} was changed without the API.`,
      ),
  ),
  EXTERNAL_VM_VANISHES: event(about('external VM', 'vm'), async ({ world, target }) => {
    if (outsideVms(world).get(target.extId) === undefined) return []
    await outsideVms(world).remove(target.extId)
    return [`The VM ${target.name} was removed by its management.`]
  }),
}
