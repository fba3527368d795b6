import { catalogueId } from '../../core/ids/named-id.ts'

/** Provider of LOCAL users and service accounts. */
export const localProviderId = catalogueId('loginProvider', 'local')
