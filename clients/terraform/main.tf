# One resource of each kind that people usually begin with, against the demo world. The variables are what a later
# apply changes in place.
terraform {
  required_providers {
    nutanix = {
      source = "nutanix/nutanix"
    }
  }
}

# Endpoint, port, user name and password come from NUTANIX_ENDPOINT, NUTANIX_PORT, NUTANIX_USERNAME, NUTANIX_PASSWORD.
provider "nutanix" {
  insecure = true
}

variable "description" {
  default = "made by Terraform"
}

variable "memory_gib" {
  default = 2
}

# The provider waits two minutes for each storage container.
variable "with_container" {
  default = true
}

data "nutanix_clusters_v2" "all" {}

data "nutanix_subnets_v2" "all" {}

data "nutanix_storage_containers_v2" "all" {}

locals {
  cluster = [
    for cluster in data.nutanix_clusters_v2.all.cluster_entities : cluster.ext_id
    if cluster.name == "hp-native-01"
  ][0]
  container = [
    for container in data.nutanix_storage_containers_v2.all.storage_containers : container.container_ext_id
    if container.name == "db-gold"
  ][0]
  external = [for subnet in data.nutanix_subnets_v2.all.subnets : subnet.ext_id if subnet.name == "ext-nat"][0]
}

resource "nutanix_category_v2" "stage" {
  key         = "terraform-stage"
  value       = "trial"
  description = var.description
}

resource "nutanix_storage_containers_v2" "data" {
  count = var.with_container ? 1 : 0

  name                              = "terraform-data"
  cluster_ext_id                    = local.cluster
  logical_advertised_capacity_bytes = 1099511627776
  is_compression_enabled            = true
}

# The provider sends no update of a volume group, so nothing of it depends on a variable.
resource "nutanix_volume_group_v2" "orders" {
  name              = "terraform-orders"
  description       = "made by Terraform"
  cluster_reference = local.cluster
  sharing_status    = "SHARED"
  usage_type        = "USER"
}

resource "nutanix_volume_group_disk_v2" "orders" {
  volume_group_ext_id = nutanix_volume_group_v2.orders.id
  index               = 1
  description         = var.description
  disk_size_bytes     = 5368709120
  disk_data_source_reference {
    name        = "terraform-disk"
    ext_id      = var.with_container ? nutanix_storage_containers_v2.data[0].id : local.container
    entity_type = "STORAGE_CONTAINER"
    uris        = []
  }
  # The source of a disk is write-only.
  lifecycle {
    ignore_changes = [disk_data_source_reference]
  }
}

resource "nutanix_subnet_v2" "vlan" {
  name              = "terraform-vlan"
  description       = var.description
  cluster_reference = local.cluster
  subnet_type       = "VLAN"
  network_id        = 812
  ip_config {
    ipv4 {
      ip_subnet {
        ip {
          value = "10.81.2.0"
        }
        prefix_length = 24
      }
      default_gateway_ip {
        value = "10.81.2.1"
      }
      pool_list {
        start_ip {
          value = "10.81.2.50"
        }
        end_ip {
          value = "10.81.2.99"
        }
      }
    }
  }
}

resource "nutanix_vpc_v2" "tenant" {
  name        = "terraform-tenant"
  description = var.description
  external_subnets {
    subnet_reference = local.external
  }
  externally_routable_prefixes {
    ipv4 {
      ip {
        value         = "172.30.0.0"
        prefix_length = 32
      }
      prefix_length = 16
    }
  }
}

resource "nutanix_subnet_v2" "overlay" {
  name          = "terraform-overlay"
  description   = var.description
  subnet_type   = "OVERLAY"
  vpc_reference = nutanix_vpc_v2.tenant.id
  ip_config {
    ipv4 {
      ip_subnet {
        ip {
          value = "172.30.8.0"
        }
        prefix_length = 24
      }
      default_gateway_ip {
        value = "172.30.8.1"
      }
      pool_list {
        start_ip {
          value = "172.30.8.50"
        }
        end_ip {
          value = "172.30.8.99"
        }
      }
    }
  }
}

resource "nutanix_pbr_v2" "deny" {
  name        = "terraform-deny"
  description = var.description
  vpc_ext_id  = nutanix_vpc_v2.tenant.id
  priority    = 14
  policies {
    policy_match {
      source {
        address_type = "SUBNET"
        subnet_prefix {
          ipv4 {
            ip {
              value         = "172.30.8.0"
              prefix_length = 24
            }
          }
        }
      }
      destination {
        address_type = "ANY"
      }
      protocol_type = "UDP"
    }
    policy_action {
      action_type = "DENY"
    }
  }
}

resource "nutanix_images_v2" "ubuntu" {
  name        = "terraform-ubuntu"
  description = var.description
  type        = "DISK_IMAGE"
  source {
    url_source {
      url = "https://images.example.com/ubuntu-terraform.qcow2"
    }
  }
}

resource "nutanix_virtual_machine_v2" "web" {
  name                 = "terraform-web"
  description          = var.description
  num_sockets          = 1
  num_cores_per_socket = 2
  memory_size_bytes    = var.memory_gib * 1024 * 1024 * 1024
  power_state          = "ON"
  cluster {
    ext_id = local.cluster
  }
  categories {
    ext_id = nutanix_category_v2.stage.id
  }
  disks {
    disk_address {
      bus_type = "SCSI"
      index    = 0
    }
    backing_info {
      vm_disk {
        data_source {
          reference {
            image_reference {
              image_ext_id = nutanix_images_v2.ubuntu.id
            }
          }
        }
      }
    }
  }
  nics {
    nic_network_info {
      virtual_ethernet_nic_network_info {
        nic_type = "NORMAL_NIC"
        subnet {
          ext_id = nutanix_subnet_v2.vlan.id
        }
        vlan_mode = "ACCESS"
      }
    }
  }
}

resource "nutanix_virtual_machine_v2" "default" {
  name                 = "terraform-default"
  num_sockets          = 1
  num_cores_per_socket = 1
  cluster {
    ext_id = local.cluster
  }
  # An attached volume group shows among the disks of its VM.
  lifecycle {
    ignore_changes = [disks]
  }
}

resource "nutanix_volume_group_vm_v2" "orders" {
  volume_group_ext_id = nutanix_volume_group_v2.orders.id
  vm_ext_id           = nutanix_virtual_machine_v2.default.id
}
