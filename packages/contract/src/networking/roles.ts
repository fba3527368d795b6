/** Source: behaviour networking.md 2, operation-roles.tsv. */
import { names } from '../names.ts'
import { perSecond } from '../operation.ts'
import type { RoleName } from '../roles.ts'

export const subnetReaders: readonly RoleName[] = names(`
  Account Owner, Administrator, Backup Admin, CSI System, Consumer, Developer, Kubernetes Data Services System,
  Kubernetes Infrastructure Provision, Management Connector, Network Infra Admin, Network Shared Resources Viewer,
  Operator, Platform Admin, Platform Viewer, Project Admin, Project Manager, Super Admin, VPC Admin,
  Virtual Machine Admin, Virtual Machine Operator, Virtual Machine Viewer
`)

export const vpcReaders: readonly RoleName[] = names(`
  Account Owner, Administrator, Consumer, Developer, Management Connector, Network Policy Admin, Network Policy Author,
  Network Policy Viewer, Platform Admin, Platform Viewer, Project Admin, Project Manager, Super Admin, User, VPC Admin,
  Virtual Machine Admin, Virtual Machine Operator, Virtual Machine Viewer
`)

export const vpcWriters: readonly RoleName[] = names(`
  Account Owner, Administrator, Platform Admin, Super Admin, VPC Admin
`)

export const routingReaders: readonly RoleName[] = [...vpcWriters, 'Platform Viewer', 'User']

export const controllerReaders: readonly RoleName[] = names(`
  Consumer, Developer, Network Infra Admin, Operator, Platform Admin, Platform Viewer, Project Admin, Super Admin,
  VPC Admin
`)
export const controllerWriters: readonly RoleName[] = ['Platform Admin', 'Super Admin']

export const switchReaders: readonly RoleName[] = names(`
  Consumer, Developer, Network Infra Admin, Operator, Platform Admin, Platform Viewer, Project Admin, Super Admin,
  VPC Admin, Virtual Machine Admin, Virtual Machine Operator, Virtual Machine Viewer
`)

export const gatewayReaders = controllerReaders
export const gatewayWriters: readonly RoleName[] = ['Network Infra Admin', ...controllerWriters, 'VPC Admin']

export const mirrorWriters = controllerWriters
export const mirrorReaders: readonly RoleName[] = names(
  'Network Infra Admin, Platform Admin, Platform Viewer, Super Admin',
)

/** Source: specification 5 (listBgpSessions); get, and the routes of a session, by decision. */
export const bgpReaders: readonly RoleName[] = ['Platform Admin', 'Platform Viewer', 'Super Admin', 'VPC Admin']

export const getRate = perSecond(10, 10, 20)
export const listRate = perSecond(5, 5, 10)
export const mutationRate = perSecond(5, 5, 10)
/** Mutations that take minutes: controllers, switches, gateways. */
export const slowMutationRate = perSecond(1, 1, 2)
