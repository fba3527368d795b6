import { names } from '@hyperplane/contract/names'
import { directoryFaults } from './directory.ts'
import type { Drivers } from './drivers.ts'
import { objectStoreFaults } from './object-store.ts'
import { remoteFaultReasons } from './remote-managers.ts'
import { webFaults } from './web.ts'

type CallOf<D> = { [M in keyof D]: D[M] extends (...given: never[]) => Promise<unknown> ? M : never }[keyof D] & string

export const driverCalls = {
  blockStorage: names(`
    allow, createDisk, deleteDisk, deleteImage, deny, plug, provisionDisks, publishDisk, putContents, putTarget,
    removeTarget, resizeDisk, resumeTarget, snapshotBlocks, startHydration, stopHydration, suspendTarget, unplug,
    usageOf
  `),
  contentSource: names('adopt, copy, digests, fetch, look, release, remove, verify'),
  directory: names('bind, findUser, groupsOf, hasGroup, search'),
  externalHypervisor: names(`
    changePower, copyTools, ejectToolsIso, insertToolsIso, inventory, moveVm, registerExtension, removeSnapshot,
    removeTools, revertToSnapshot, revertTools, runs, setUpTools, signIn, switchTools, takeSnapshot, unregisterExtension
  `),
  hardware: names(`
    admitNodes, changePassword, detachNode, dissolveCluster, enterMaintenance, evacuateDrive, formCluster, imageNode,
    joinNode, leaveMaintenance, leftoverFiles, mountDatastore, partitionDrive, poolDrive, poolDrivesOf, probeBmc,
    putContainer, readSettings, removeContainer, resizeControllerVm, setDriveLed, shownCertificate, stageCertificate,
    startControllerVm, startServices, stopControllerVm, stopEvacuation, stopServices, switchCertificate,
    takeBackCertificate, takeBackContainer, takeBackNode, takeBackPassword, takeBackSettings, unmountDatastore,
    unpoolDrive, unpoolDrivesOf, unstageCertificate, writeSettings
  `),
  hypervisor: names(`
    acknowledge, copyDisk, copyTools, createDisk, defineVm, deleteDisk, endCustomization, fenceVm, freezeGuest,
    holdAtStart, hydrateDisk, installedSystem, migrateVm, moveDisk, moveVm, observeGuests, openConsole, removeVmGroup,
    replaceDisk, requestReboot, requestShutdown, resetVm, resizeDisk, retryWrites, revertTools, runPowerScript,
    setUpTools, snapshotDisks, startVm, stopVm, thawGuest, unaskedStates, undefineVm
  `),
  networkFabric: names(`
    addBgpPeer, announceAddresses, announceFloatingIp, attachRouter, attachedSince, awaitAgent, balancer, bgpPeer,
    carryOverlay, carryOverlayByDefault, bridgeSubnet, checkTargets, clearPolicyCounters, configureGateway,
    controllerState, deployController, detachRouter, disableVirtualFunctions, enableVirtualFunctions, endBridging,
    endTunnelSecurity, exporter, gateway, installAgent, installPolicy, installRoute, mirror, mirrored, movePort,
    networkFunction, northSouth, outsideAddress, overlayOf, probeFunction, peersOfGateway, programBalancer,
    programExporter, programFloatingIp, programFunction, programMirror, programRouter, programStretch, programSubnet,
    putBridge, programTunnel, removeAgents, removeBalancer, removeBgpPeer, removeBridge, removeController,
    removeExporter, removeFloatingIp, removeFunction, removeGateway, removeMirror, removePolicy, removeRoute,
    removeRouter, removeStretch, removeSubnet, removeTunnel, retargetBalancer, routeTunnel, routesOf, secureTunnel,
    serveDhcp, stopDhcp, stretch, stopTunnelRouting, throughput, switchStack, trace, translateSources, tunnel
  `),
  objectStore: names('get, list, put, remove'),
  ovaFiles: names('canReach, copy, digests, fetch, freeze, remove, verify, write'),
  remoteManagers: names(`
    exchangeTrust, identify, inventory, keepInventory, networkEntities, probe, reach, revokeTrust
  `),
  telemetry: names('read, readBalancer, readBlockDisk, readDrives, readHost, readStretch'),
  traps: names('send'),
  web: names('fetch, refusalOf'),
} satisfies { readonly [D in keyof Drivers]: readonly CallOf<Drivers[D]>[] }

type Missing = { [D in keyof Drivers]: Exclude<CallOf<Drivers[D]>, (typeof driverCalls)[D][number]> }[keyof Drivers]
/** A driver call that `driverCalls` does not list does not compile here. */
export const missingCalls: readonly never[] = [] as readonly Missing[]

/** Drivers with their own fault names; their callers handle only these. */
export const driverFaults = {
  directory: directoryFaults,
  objectStore: objectStoreFaults,
  remoteManagers: remoteFaultReasons,
  web: webFaults,
}
