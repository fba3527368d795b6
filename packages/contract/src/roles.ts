/** Letter for letter as in the specification. Source: specification 5; iam.md 8. */
import { names } from './names.ts'

export const systemRoles = names(`
  Account Owner, Administrator, Backup Admin, CSI System, Category Admin, Category Viewer, Central Admin, Cluster Admin,
  Cluster Viewer, Consumer, Developer, Disaster Recovery Admin, Disaster Recovery Viewer, Domain Manager Admin,
  Domain Manager Viewer, Intelligent Ops Admin, Internal Super Admin, Kubernetes Admin, Kubernetes Data Services System,
  Kubernetes Infrastructure Provision, LocalAccountManager Admin, LocalAccountManager Viewer, Management Admin,
  Management Connector, Management Viewer, Monitoring Admin, Network Infra Admin, Network Policy Admin,
  Network Policy Author, Network Policy Viewer, Network Shared Resources Viewer, Operator, Platform Admin,
  Platform User, Platform Viewer, Project Admin, Project Manager, Self-Service Admin (deprecated), Storage Admin,
  Storage Viewer, Super Admin, User, User Admin, VPC Admin, Virtual Machine Admin, Virtual Machine Operator,
  Virtual Machine Viewer
`)

export type RoleName = (typeof systemRoles)[number]
