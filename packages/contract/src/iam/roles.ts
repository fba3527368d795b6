/** Source: specification 5; behaviour iam.md 10, operation-roles.tsv. */
import { names } from '../names.ts'
import type { RoleName } from '../roles.ts'

/** Also of the entities and operations that policies name. */
export const policyReaders: readonly RoleName[] = names(`
  Account Owner, Administrator, Central Admin, Platform Admin, Platform Viewer, Project Manager,
  Self-Service Admin (deprecated), Super Admin, User
`)

export const userReaders: readonly RoleName[] = names(`
  Backup Admin, Central Admin, Platform Admin, Platform Viewer, Project Admin, Project Manager,
  Self-Service Admin (deprecated), Super Admin, User Admin
`)

/** Project Admin may also create users and groups. */
export const userWriters: readonly RoleName[] = names(`
  Central Admin, Platform Admin, Project Manager, Self-Service Admin (deprecated), Super Admin, User Admin
`)
